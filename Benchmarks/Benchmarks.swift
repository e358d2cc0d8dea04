import ArgumentParser

// Benchmarks — what a login costs, against the floor, a program that does only what no such service can avoid; and how
// logins fare beside the work in the background, beside many others that hash passwords, beside slow searches of users,
// beside an import, on a new system, with many applications, among many users, at several instances, on nodes of
// Citus, and by the number of connections to PostgreSQL; what a second factor, the check of a session, and an instance
// without load cost; what the console and the log of logins cost; and what becomes of logins when ten times too many
// come.
//
// It owns the load generator, the floor and the report. `scripts/benchmark` starts PostgreSQL and the simulator and
// calls it.
//
// Every figure is a comparison inside one run; absolute times of a shared machine mean nothing.

@main
struct Benchmarks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "benchmarks",
        abstract: "Measures the release build; call it through scripts/benchmark.",
        subcommands: [
            LoginCommand.self, LimitedLoginCommand.self, FreshCommand.self, ApplicationsCommand.self,
            MaintenanceCommand.self, PasswordsCommand.self, QueryCommand.self, ImportCommand.self, FactorsCommand.self,
            OverloadCommand.self, SessionCommand.self, UsersCommand.self, InstancesCommand.self, StartCommand.self,
            PoolCommand.self, CitusCommand.self, ConsoleCommand.self, FloorCommand.self,
        ]
    )
}
