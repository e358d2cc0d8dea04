import Administration
import ArgumentParser
import Providers
import Vocabulary

struct ProviderSetCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set apps of a provider, their secrets, and how people log in.",
        discussion: """
            --app-id names one app. When the application has it already, its secret is replaced; a first one makes logins \
            possible; --add puts one behind the others (iOS, Android and web often have an app each). What is not named stays \
            as it is; an option that may be given several times replaces the whole list.

            The app secret comes from a file, from standard input, or from you, unseen; the verify token of the webhook from a file or \
            from standard input.

            Examples:
              federation provider set demo --app-id 1234567890 --secret-file app.secret
              pass show facebook/ios | federation provider set demo \\
                --app-id 2345678901 --add --secret-stdin
              federation provider set demo --remove-app 2345678901 --proof classic
              federation provider set demo --return-url https://app.example.com/done \\
                --return-url fb1234567890://done --permission email
              federation provider set demo --app-id 1234567890 --config-id 998877665544332
              federation provider set demo --keep-tokens --refresh-hours 24
              federation provider set demo --webhook-verify-token-file webhook.token
              federation provider set demo --nonce serverIssued --default refreshHours
            """
    )

    @OptionGroup var application: ApplicationArgument
    @OptionGroup var provider: ProviderArgument

    @Option(help: "The kind of a provider that is made, where it is not called as its kind is.")
    var kind: ProviderName?

    @Option(help: ArgumentHelp("The app to add, or whose secret to replace.", valueName: "id"))
    var appID: String?

    @OptionGroup var secret: AppSecretOptions

    @Option(
        help: ArgumentHelp(
            "The app's configuration of Facebook Login for Business, which the login dialog then follows; empty for none.",
            valueName: "id"
        )
    )
    var configID: String?

    @Flag(help: "Add the app to those that are there.")
    var add = false

    @Option(
        name: .customLong("remove-app"),
        help: ArgumentHelp("Remove this app; once for each.", valueName: "id")
    )
    var removedApps: [String] = []

    @Flag(help: "Whether people can log in by the provider.")
    var state: State?

    enum State: String, EnumerableFlag {
        case enable
        case disable
    }

    @OptionGroup(title: "Logins with Facebook") var options: ProviderOptions
    @OptionGroup var precondition: PreconditionOption
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if appID == nil, secret.isGiven || add || configID != nil {
            throw ValidationError("Name the app that is meant by --app-id.")
        }
        guard
            appID != nil || kind != nil || !removedApps.isEmpty || state != nil || options.isGiven
        else {
            throw ValidationError("Name at least one thing to set.")
        }
        if options.fromStandardInput + (secret.takesStandardInput ? 1 : 0) > 1 {
            throw ValidationError("Only one secret can come from standard input: give the others in files.")
        }
    }

    var inputFiles: [String] { [secret.file].compactMap(\.self) + options.inputFiles }

    func run(_ administration: Administration, by actor: Actor) async throws {
        guard let current = try await settings(administration) else {
            let kind = try administration.providers.kind(named: kind ?? provider.name)
            let given = try document(apps: [], of: kind).members.filter { !$0.value.isNull }
            let made = try await administration.providers.put(
                provider.name,
                of: application.id,
                .object(JSONObject(given)),
                if: precondition.precondition,
                by: actor
            )
            return try output.show(made, ProviderCommand.Show.sections(of: kind.appTerms))
        }
        let kind = try await administration.providers.kind(of: provider.name, in: application.id)
        let changed = try await administration.providers.change(
            provider.name,
            of: application.id,
            patch: .object(try document(apps: current.body.object?["apps"]?.array ?? [], of: kind)),
            if: precondition(onTopOf: current),
            by: actor
        )
        try output.show(changed, ProviderCommand.Show.sections(of: kind.appTerms))
    }

    /// What there is; nil when the provider is not configured.
    private func settings(_ administration: Administration) async throws -> Resource? {
        do throws(Failure) {
            return try await administration.providers.read(provider.name, of: application.id)
        } catch {
            guard error.reason == .notFound else { throw error }
            // It is the application itself that is not there when this fails as well.
            _ = try await administration.applications.read(application.id)
            return nil
        }
    }

    /// The list of apps is replaced as a whole, so it must be the one that was read.
    private func precondition(onTopOf current: Resource) -> Precondition {
        guard precondition.tag == nil, appID != nil || !removedApps.isEmpty, let tag = current.tag else {
            return precondition.precondition
        }
        return .tags([tag])
    }

    /// What was given; an option that returns to its default is `null`.
    private func document(apps: [JSONValue], of kind: any ProviderKind) throws -> JSONObject {
        let settings = JSONObject(present: [
            "kind": kind.name == provider.name ? nil : .string(kind.name.text),
            "enabled": state.map { .bool($0 == .enable) },
            "apps": appID == nil && removedApps.isEmpty ? nil : .array(try changed(apps, of: kind)),
        ])
        return JSONObject(settings.members + (try options.members(of: kind)))
    }

    /// The apps that there shall be; one without `appSecret` keeps the secret that is stored.
    private func changed(_ apps: [JSONValue], of kind: any ProviderKind) throws -> [JSONValue] {
        let members = kind.appTerms
        if configID != nil, members.configID == nil {
            throw Exit.refusing("An app at \(kind.title) has no configuration: leave out --config-id.")
        }
        var configIDs: [String: JSONValue] = [:]
        for app in apps.compactMap(\.object) {
            if let id = app[members.id]?.string { configIDs[id] = members.configID.flatMap { app[$0] } }
        }
        let ids = apps.compactMap { $0.object?[members.id]?.string }
        if let unknown = removedApps.first(where: { removed in !ids.contains { $0.hasSameBytes(as: removed) } }) {
            throw Exit.saying(
                "federation: \(application.id) has no \(kind.title) app \(unknown)",
                Exit.noInput
            )
        }
        var kept = ids.filter { id in !removedApps.contains { $0.hasSameBytes(as: id) } }
        guard let appID else { return kept.map { app($0, configID: configIDs[$0], members) } }
        let isKnown = kept.contains { $0.hasSameBytes(as: appID) }
        if !isKnown {
            guard add || kept.isEmpty else {
                throw Exit.refusing(
                    """
                    \(application.id) has the app \(kept.joined(separator: ", ")): give --add to have \(appID) beside it, or \
                    --remove-app to have it instead.
                    """
                )
            }
            kept.append(appID)
        }
        if let configID { configIDs[appID] = configID.isEmpty ? nil : .string(configID) }
        let keepsSecret = isKnown && configID != nil && !secret.isGiven
        let secret = keepsSecret ? nil : try secret.require("The app secret of \(appID)")
        return kept.map { app($0, secret: $0.hasSameBytes(as: appID) ? secret : nil, configID: configIDs[$0], members) }
    }

    private func app(
        _ id: String,
        secret: Secret? = nil,
        configID: JSONValue?,
        _ members: AppTerms
    ) -> JSONValue {
        var app = JSONObject(present: [
            members.id: .string(id), members.secret: secret.map { .string($0.reveal()) },
        ])
        if let configID, let name = members.configID { app.append(name, configID) }
        return .object(app)
    }
}
