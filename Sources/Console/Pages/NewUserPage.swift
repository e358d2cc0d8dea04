import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// A user whom an operator makes: a field for each property, and how the user gets in.
extension Console {
    func mountNewUser(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/new-user"
        page(path, on: router) { visit in try await newUserPage(visit) }
        action(path, on: router) { visit, form in
            let application = visit.parameter("application")
            let draft = try NewUserDraft(form, types: try await propertyTypes(visit))
            var refusal: Refusal?
            if draft.problems.isEmpty {
                do {
                    let call = AdministrationCalls.Call(
                        .post,
                        ["applications", application, "users"],
                        body: .object(draft.document)
                    )
                    let made = try await visit.call(call).body?.object
                    let id = made?["user"]?.object?["objectId"]?.string ?? ""
                    let notice: Notice = draft.way == .mail ? .userMadeAndMailed : .userMade
                    return .done(notice, PersonPlace(application: application, id: id).path)
                } catch let error as Refusal where !error.asksForFactor {
                    refusal = error
                }
            }
            return .page(try await newUserPage(visit, draft, refusal))
        }
    }

    private func newUserPage(
        _ visit: Visit,
        _ draft: NewUserDraft? = nil,
        _ refusal: Refusal? = nil
    ) async throws -> Page {
        let application = visit.parameter("application")
        guard visit.role >= .editor else {
            throw Failure(.operatorForbidden, "This needs the role editor; yours is \(visit.role.rawValue).")
        }
        async let stored = visit.read(["applications", application]).object
        let declared = try await visit.list(["applications", application, "properties"]).items
        let required = declared.filter { $0["required"]?.bool ?? false }.compactMap { $0["name"]?.string }
        let problems = (draft?.problems ?? [:]).merging(refusal?.fieldsOfUser ?? [:]) { own, _ in own }
        let fields = try await propertyTypes(visit).map { name, type -> HTML in
            let problem = problems[PropertyField.id(of: name)]
            var field = PropertyField(name: name, type: type, text: draft?.typed[name] ?? "", problem: problem)
            field.isRequired = required.contains(name)
            return field.html(now: nil)
        }
        let known = try await stored?["settings"]?.object?["roles"]?.array?.compactMap(\.string) ?? []
        let roles = known.map { role -> HTML in
            let isGiven = draft?.roles.contains(role) ?? false
            return """
                <label><input type="checkbox" name="role" value="\(role)"\(" checked", if: isGiven)> \(role)</label>
                """
        }
        let alert: HTML =
            if let refusal, refusal.fieldsOfUser.isEmpty {
                refusal.alert
            } else if problems.isEmpty {
                ""
            } else {
                "<div class=\"alert\" role=\"alert\"><p>Nobody was made. It is said at each field what is wrong.</p></div>"
            }
        let chosen = draft?.way ?? .mail
        let ways = NewUserDraft.Way.allCases.map { way -> HTML in
            """
            <label><input type="radio" name="way" value="\(way)"\(" checked", if: way == chosen)> \(way.title)</label>
            """
        }
        let wrong = problems["password"].map { " <strong class=\"problem\">\($0)</strong>" as HTML }
        let path = consolePath("applications", application, "new-user")
        var page = Page(
            title: "A new user",
            section: .applications,
            trail: Self.peopleTrail(of: application),
            content: """
                \(alert)
                \(visit.form(to: path, class: "properties", """
                \(fields)
                <fieldset class="choices"><legend>How the user gets in</legend>\(ways)
                <p class="field"><label for="password">Password</label><input id="password" name="password" type="password" \
                autocomplete="new-password" aria-describedby="password-hint"\(" aria-invalid=\"true\"", if: wrong != nil)>\
                <small id="password-hint">If it is set here. Hand it over by a way that nobody else reads.\(wrong ?? "")</small></p>
                </fieldset>
                \("<fieldset class=\"choices\"><legend>Roles</legend>\(roles)</fieldset>" as HTML, if:
                    visit.role >= .owner && !roles.isEmpty)
                <p><button class="primary">Make the user</button> \
                <a class="button" href="\(consolePath("applications", application, "users"))">Back</a></p>
                """))
                <p class="fine">The rules are those of a registration. It works also where the application takes no new \
                users otherwise.</p>
                """,
            command: "federation user create \(application)",
            call: "POST /admin/v1/applications/\(application)/users"
        )
        if let refusal { return page.answering(refusal) }
        if !problems.isEmpty { page.status = .badRequest }
        return page
    }
}

/// A new user as an operator has typed one.
private struct NewUserDraft {
    /// How the user gets in.
    enum Way: String, CaseIterable {
        case mail, password, none

        var title: String {
            switch self {
            case .mail: "A link is mailed, under which the user chooses a password"
            case .password: "The password is set here"
            case .none: "Not yet"
            }
        }
    }

    let way: Way
    let roles: [String]
    /// What was typed, by the names of properties.
    private(set) var typed: [String: String] = [:]
    /// What is wrong before anything is asked, by the ids of fields.
    private(set) var problems: [String: String] = [:]
    /// The call's body.
    private(set) var document: JSONObject

    init(_ form: FormFields, types: [(name: String, type: PropertyType)]) throws {
        way = try form.value("way").flatMap { Way(rawValue: $0) } ?? .none
        roles = form.all.filter { $0.name == "role" }.map(\.value)
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
            let password = try form.value("password") ?? ""
            if password.isEmpty { problems["password"] = "Type the password that the user gets." }
            document.append("password", .string(password))
        }
    }
}

extension Refusal {
    /// What is wrong with a new user, by the ids of fields; nothing where it is about all of it.
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
