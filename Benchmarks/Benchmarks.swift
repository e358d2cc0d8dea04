import ArgumentParser

// Benchmarks — measures the cost of logins, and of what runs beside them, in a release build.
//
// A login is compared with the floor, a program that does only what no such service can avoid. Logins are measured:
// beside background work, many logins that hash passwords, slow searches of users, and an import; on a new system, with
// many applications, among many users, at several instances, on nodes of Citus, by the number of connections to
// PostgreSQL, and at ten times the possible load. Also measured is the cost of a second factor, of the check of a
// session, of an instance without load, and of the console and the login log.
//
// It owns the load generator, the floor and the report. `scripts/benchmark` starts PostgreSQL and the simulator and
// calls it.
//
// Every figure is a comparison within one run; absolute times of a shared machine mean nothing.

@main
struct Benchmarks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "benchmarks",
        abstract: "Measures the release build; call it through scripts/benchmark.",
        subcommands: [
            LoginCommand.self, LimitedLoginCommand.self, FreshCommand.self, ApplicationsCommand.self,
            FirebaseCommand.self,
            MaintenanceCommand.self, PasswordsCommand.self, QueryCommand.self, ImportCommand.self, FactorsCommand.self,
            OverloadCommand.self, SessionCommand.self, UsersCommand.self, InstancesCommand.self, StartCommand.self,
            PoolCommand.self, CitusCommand.self, ConsoleCommand.self, FloorCommand.self,
        ]
    )
}
