import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page on which an operator creates a user.
///
/// It has a field for each property, and asks how the user will log in.
extension Console {
    func mountNewUser(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/new-user"
        page(path, on: router) { visit in try await newUserPage(visit) }
        action(path, on: router) { visit, form in
            let draft = try NewUserDraft(form, types: try await propertyTypes(visit))
            guard draft.problems.isEmpty else { return .page(try await newUserPage(visit, draft)) }
            do {
                let made = try await visit.call(.post, ["applications", visit.application, "users"], draft.document)
                let id = made.object.object("user").string("objectId")
                let notice: Notice = draft.way == .mail ? .userMadeAndMailed : .userMade
                return .done(notice, UserPlace(application: visit.application, id: id).path)
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await newUserPage(visit, draft, refusal))
            }
        }
    }

    private func newUserPage(
        _ visit: Visit,
        _ draft: NewUserDraft? = nil,
        _ refusal: Refusal? = nil
    ) async throws -> Page {
        let application = visit.application
        try visit.require(.editor)
        async let stored = visit.object(["applications", application])
        let declared = try await visit.list(["applications", application, "properties"]).items
        let required = declared.filter { $0.bool("required") }.compactMap { $0["name"]?.string }
        let problems = (draft?.problems ?? [:]).merging(refusal?.fieldsOfUser ?? [:]) { own, _ in own }
        let fields = try await propertyTypes(visit).map { name, type -> HTML in
            let problem = problems[PropertyField.id(of: name)]
            var field = PropertyField(name: name, type: type, text: draft?.typed[name] ?? "", problem: problem)
            field.isRequired = required.contains(name)
            return field.html(now: nil)
        }
        let roles = try await stored.object("settings").strings("roles").map { role -> HTML in
            .tick("role", "\(role)", value: role, isTicked: draft?.roles.contains(role) ?? false)
        }
        let alert: HTML? =
            if let refusal, refusal.fieldsOfUser.isEmpty {
                refusal.alert
            } else if problems.isEmpty {
                nil
            } else {
                .alert("The user was not created. Correct the marked fields.")
            }
        let chosen = draft?.way ?? .mail
        let ways = NewUserDraft.Way.allCases.map { way -> HTML in
            """
            <label><input type="radio" name="way" value="\(way)"\(" checked", if: way == chosen)> \(way.title)</label>
            """
        }
        let password = HTML.field(
            "password",
            "Password",
            type: "password",
            hint: "Only if you set the password here. Send it over a private channel.",
            problem: problems["password"],
            attributes: "autocomplete=\"new-password\""
        )
        let path = consolePath("applications", application, "new-user")
        var page = Page(
            title: "Create a user",
            section: .applications,
            trail: Self.usersTrail(of: application),
            content: """
                \(alert)
                \(visit.form(to: path, class: "properties", """
                \(fields)
                <fieldset class="choices"><legend>How the user logs in</legend>\(ways)\(password)</fieldset>
                \("<fieldset class=\"choices\"><legend>Roles</legend>\(roles)</fieldset>", if:
                    visit.role >= .owner && !roles.isEmpty)
                <p><button class="primary">Create the user</button> \
                \(HTML.button("Back", to: consolePath("applications", application, "users")))</p>
                """))
                <p class="fine">The rules of a registration apply. This works even if the application is closed to new \
                users.</p>
                """,
            command: "federation user create \(application)",
            call: "POST /admin/v1/applications/\(application)/users"
        )
        if let refusal { return page.answering(refusal) }
        if !problems.isEmpty { page.status = .badRequest }
        return page
    }
}

/// What the operator typed into the form for a new user.
private struct NewUserDraft {
    /// How the new user will get a password.
    enum Way: String, CaseIterable {
        case mail, password, none

        var title: String {
            switch self {
            case .mail: "Mail a link with which the user chooses a password"
            case .password: "Set the password here"
            case .none: "No password yet"
            }
        }
    }

    let way: Way
    let roles: [String]
    /// The typed texts of properties, by the names of the properties.
    private(set) var typed: [String: String] = [:]
    /// The problems that the page itself found in the typed texts, by the ids of the form's fields.
    private(set) var problems: [String: String] = [:]
    /// The JSON body of the administration API's call that creates the user.
    private(set) var document: JSONObject

    init(_ form: FormFields, types: [(name: String, type: PropertyType)]) throws {
        way = try form.value("way").flatMap { Way(rawValue: $0) } ?? .none
        roles = form.texts("role")
        var user = JSONObject()
        for (name, type) in types {
            guard let text = try form.value(PropertyField.id(of: name)), !text.isEmpty else { continue }
            typed[name] = text
            do { user.append(name, try PropertyField.value(of: text, type)) } catch let failure as Failure {
                problems[PropertyField.id(of: name)] = failure.message
            }
        }
        document = ["user": .object(user)]
        if !roles.isEmpty { document.append("roles", .array(roles.map(JSONValue.string))) }
        switch way {
        case .none: break
        case .mail: document.append("mail", .string("passwordReset"))
        case .password:
            let password = try form.text("password")
            if password.isEmpty { problems["password"] = "Enter a password for the user." }
            document.append("password", .string(password))
        }
    }
}

extension Refusal {
    /// The problems for which the administration refused a new user, by the ids of the form's fields.
    ///
    /// Problems that concern no single field are left out.
    fileprivate var fieldsOfUser: [String: String] {
        var fields: [String: String] = [:]
        for problem in problems where problem.place.hasPrefix("/user/") {
            fields[PropertyField.id(of: String(problem.place.dropFirst("/user/".utf8.count)))] = problem.text
        }
        if let name = details["property"]?.string { fields[PropertyField.id(of: name)] = message }
        switch reason {
        case Failure.Reason.emailInvalid.rawValue: fields[PropertyField.id(of: "email")] = message
        case Failure.Reason.passwordNotAllowed.rawValue: fields["password"] = message
        default: break
        }
        return fields
    }
}
