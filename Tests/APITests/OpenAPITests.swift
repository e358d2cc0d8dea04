import Administration
@testable import AdministrationAPI
@testable import Backendless
import Description
import Domain
import EmbeddedFiles
import Encodings
import Firebase
import FoundationEssentials
import HTTPTypes
import Hummingbird
import PublicAPI
@testable import Server
import Testing
import TestSupport

@Suite("The OpenAPI documents")
struct OpenAPITests {
    @Test("each is what the routes of its listener say", arguments: ["public", "management", "firebase"])
    func made(name: String) throws {
        let file = try GeneratedFile("docs/openapi/\(name).json")
        #expect(
            try file.has(Self.document(name).indented + "\n"),
            "\(file.path) is not what the routes say: run scripts/generate"
        )
    }

    @Test("the one of the management listener has its routes and methods, and no others")
    func managementRoutes() throws {
        let document = try OpenAPIDocument("management")
        #expect(Set(document.operations.keys) == Set(try Parts().managementRouter.routes.map(Self.label)))
        #expect(AdministrationRoute.all.count == document.operations.count - 3, "health and metrics are the rest")
    }

    @Test("the one of the public listener has its routes and methods, under each base path, and no others")
    func publicRoutes() throws {
        let document = try OpenAPIDocument("public")
        let bases = ["/{applicationId}/{apiKey}", "/api/{apiKey}", "/api", "/v1/{apiKey}", "/v1"]
        let refused = OutsideRoutes.refused.flatMap { route in
            bases.map { Self.label(route.method, RouterPath("\($0)/\(route.path)").description[...]) }
        }
        let routes = Set(try Parts().publicListener().router.routes.map(Self.label))
        #expect(routes.isSuperset(of: refused))
        // The router has `{provider}` as a parameter in every path; the document names the provider where a route
        // belongs to one provider only.
        var expected: Set<String> = []
        for label in document.operations.keys {
            let parts = label.split(separator: " ").map(String.init)
            if Self.ofNoApplication.contains(parts[1]) { expected.insert(label) }
            guard !Self.ofNoApplication.contains(parts[1]) || parts[1] == "/.well-known/jwks.json" else { continue }
            // Pages of mailed links, the account page and the published keys have no API key in their paths.
            let isPage = parts[1] == "/account" || parts[1].hasPrefix("/account/")
            guard !isPage,
                ![
                    "/reset-password", "/confirm-email", "/undo-change", "/undo-merge", "/connect-accounts",
                    "/invitation", "/verify-email", "/change-email",
                    "/.well-known/jwks.json",
                ].contains(parts[1])
            else {
                for base in ["/{applicationId}", "/api", "/v1"] { expected.insert("\(parts[0]) \(base)\(parts[1])") }
                continue
            }
            let path = parts[1].replacing("/facebook/", with: "/{provider}/").replacing(
                "/data/Users",
                with: "/data/{table}"
            ).replacing("/data/bulk/Users", with: "/data/bulk/{table}")
            // A route of old SDKs only is documented under the base of those SDKs only.
            let bases =
                path.hasSuffix("{applicationId}")
                ? [] : ["/{applicationId}/{apiKey}", "/api/{apiKey}", "/api", "/v1/{apiKey}"]
            for base in bases + ["/v1"] {
                expected.insert("\(parts[0]) \(base)\(path)")
            }
        }
        #expect(routes.subtracting(refused) == expected)
        #expect(
            document.json["servers"]?.array?.compactMap { $0.object?["url"]?.string?.suffix(4) } == [
                "key}", "/api", "0/v1",
            ]
        )
    }

    @Test("the one of Firebase's clients has their calls, and no others")
    func firebaseRoutes() throws {
        let parts = try Parts()
        let firebase = Firebase(
            useCases: parts.useCases,
            directory: parts.directory,
            importing: parts.administration.userImport.ofBackends,
            clock: .system
        )
        let routes = Set(parts.publicListener(beside: [firebase]).router.routes.map(Self.label))
        let hosts = ["identitytoolkit.googleapis.com", "securetoken.googleapis.com"]
        // Keys are no calls.
        let calls = routes.filter { label in hosts.contains { label.contains(" /\($0)/") } && !label.contains("Keys") }
        #expect(calls == Set(try OpenAPIDocument("firebase").operations.keys))
    }

    @Test(
        "each administrative operation says which role it needs and takes the query of its route",
        arguments: AdministrationRoute.all
    )
    func rolesAndQueries(route: AdministrationRoute) throws {
        let document = try OpenAPIDocument("management")
        let operation = try #require(document.operations["\(route.method.rawValue) \(route.path)"])
        #expect(operation["x-federation-role"]?.string == route.role.rawValue)
        #expect(operation["x-federation-second-factor"]?.string == route.factor.rawValue)
        #expect((operation["x-federation-human"]?.bool ?? false) == route.isForPeople)
        let parameters = document.parameters(of: operation)
        #expect(parameters.filter { $0.place == "query" }.map(\.name).sorted() == route.query.map(\.name).sorted())
        #expect(parameters.filter { $0.place == "path" }.map(\.name) == route.parameters)
    }

    @Test("each administrative operation lists the failures that its kind can have", arguments: AdministrationRoute.all)
    func failures(route: AdministrationRoute) throws {
        let document = try OpenAPIDocument("management")
        let operation = try #require(document.operations["\(route.method.rawValue) \(route.path)"])
        let headers = document.parameters(of: operation).filter { $0.place == "header" }.map(\.name)
        let statuses = Set(operation["responses"]?.object?.members.map(\.key) ?? [])
        #expect(statuses.isSuperset(of: ["400", "401", "405", "429", "500", "503"]))
        #expect(statuses.contains("403") == (route.role > .viewer || route.factor != .none || route.isForPeople))
        #expect(statuses.contains("404") == route.path.contains("{"))
        #expect(statuses.contains("304") == headers.contains("If-None-Match"))
        for status in ["412", "428"] { #expect(statuses.contains(status) == headers.contains("If-Match")) }
        for status in ["413", "415"] { #expect(statuses.contains(status) == (operation["requestBody"] != nil)) }
    }

    @Test("each operation describes the parameters of its path", arguments: ["public", "management"])
    func pathParameters(name: String) throws {
        let document = try OpenAPIDocument(name)
        for (label, operation) in document.operations {
            let named = label.split(separator: "{").dropFirst().map { String($0.prefix { $0 != "}" }) }
            let described = document.parameters(of: operation).filter { $0.place == "path" }.map(\.name)
            #expect(described.sorted() == named.sorted(), "\(label)")
        }
    }

    @Test("whatever a document refers to is in it", arguments: ["public", "management"])
    func references(name: String) throws {
        let document = try OpenAPIDocument(name)
        let references = document.references
        #expect(references.count > 50)
        for reference in references { #expect(document.has(reference), "\(reference)") }
    }

    @Test("generators of clients can make a type of each schema", arguments: ["public", "management"])
    func schemas(name: String) throws {
        let objects = try OpenAPIDocument(name).objects
        #expect(objects.count > 1000)
        for (place, object) in objects {
            let isAlternative = ["oneOf", "anyOf"].contains(place.dropLast().last)
            let types = object["type"]?.array?.compactMap(\.string) ?? object["type"]?.string.map { [$0] } ?? []
            #expect(isAlternative || types != ["null"], "\(place) is always null")
            #expect(types.count { $0 != "null" } <= 1, "\(place) has several types")
            #expect(!types.contains("array") || object["items"] != nil, "\(place) is a list of unknown elements")
            if object["enum"]?.array != nil { #expect(!types.isEmpty, "\(place) has values and no type") }
            if isAlternative { #expect(object["$ref"] != nil || !types.isEmpty, "\(place) has no type") }
            if place.last == "properties" {
                // Most languages allow no hyphen or underscore in a name, and names begin with a small letter.
                let names = object.members.map { $0.key.lowercased().filter { $0.isLetter || $0.isNumber } }
                #expect(Set(names).count == names.count, "\(place) has names that become one")
            }
            // openapi-python-client generates broken code for a request body with several content types.
            if place.suffix(2) == ["requestBody", "content"] { #expect(object.members.count == 1, "\(place)") }
        }
    }

    @Test("users keep the properties that operators declare", arguments: ["public", "management"])
    func users(name: String) throws {
        let schemas = try OpenAPIDocument(name).json["components"]?.object?["schemas"]?.object
        for schema in ["User"] + (name == "public" ? ["UserRecord"] : []) {
            let members = schemas?[schema]?.object
            #expect(members?["additionalProperties"]?.bool == true, "\(schema)")
            #expect(members?["properties"]?.object?["name"] != nil, "\(schema)")
        }
    }

    @Test("the reasons of failures are those of the code, in both", arguments: ["public", "management"])
    func reasons(name: String) throws {
        let schemas = try OpenAPIDocument(name).json["components"]?.object?["schemas"]?.object
        let reasons = schemas?["Reason"]?.object?["enum"]?.array?.compactMap(\.string) ?? []
        #expect(Set(reasons) == Set(Failure.Reason.allCases.map(\.rawValue)))
        #expect(reasons.count == Failure.Reason.allCases.count)
    }

    @Test("the public one is served as it lies in the repository")
    func served() async throws {
        let reply = try await Listeners().call(.get, "/openapi.json")
        #expect(reply.status == 200)
        #expect(reply.headers[.contentType] == "application/json")
        #expect(reply.text == (try OpenAPIDocument.text("public")))
        #expect(EmbeddedFiles.managementOpenAPI == Array(try OpenAPIDocument.text("management").utf8))
    }

    /// Returns the document that the routes make.
    private static func document(_ name: String) throws -> JSONValue {
        let version = FederationCommand.version
        switch name {
        case "firebase": return Firebase.document(version: version)
        case "public": return try Parts().publicListener().document(version: version)
        default: return AdministrationDocument.json(version: version)
        }
    }

    @Test("docs/api/routes.md has every route, with its role if it is an operator's")
    func routesPage() throws {
        func rows(_ name: String, _ cells: (JSONObject) -> [String]) throws -> [[String]] {
            let paths = try #require(Self.document(name).object?["paths"]?.object)
            return paths.members.flatMap { path in
                (path.value.object?.members ?? []).filter { Self.methods.contains($0.key.uppercased()[...]) }.map {
                    method in
                    let operation = method.value.object ?? JSONObject()
                    let summary = operation["summary"]?.string ?? ""
                    return ["`\(method.key.uppercased()) \(path.key)`"] + cells(operation) + [summary]
                }
            }
        }
        let page = try GeneratedFile("docs/api/routes.md")
        let isSame = try page.has(
            page.text(withBlocks: [
                "public routes": GeneratedFile.table(["Route", "Operation"], rows("public") { _ in [] }),
                "administrative routes": GeneratedFile.table(
                    ["Route", "Role", "Operation"],
                    rows("management") { operation in [operation["x-federation-role"]?.string ?? "none"] }
                ),
            ])
        )
        #expect(isSame, "\(page.path) is not what the routes say: run scripts/generate")
    }

    @Test(
        "docs/api names public routes as they are",
        arguments: [
            "docs/api/linking.md", "docs/api/login.md", "docs/api/pages.md", "docs/api/passwords.md",
            "docs/api/second-factors.md", "docs/api/sessions.md", "docs/api/users.md",
        ]
    )
    func publicPage(path: String) throws {
        // The pages name paths without their base.
        let routes = try Set(OpenAPIDocument("public").operations.keys.map { $0.replacing(" /", with: " ") })
        let named = try OpenAPIDocument.file(path).split(separator: "`").map {
            $0.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
        }.filter { Self.methods.contains($0.prefix { $0 != " " }) && $0.split(separator: " ").count == 2 }
        #expect(!named.isEmpty)
        for route in named { #expect(routes.contains(route), "\(path) names \(route)") }
    }

    /// The paths at the root of the public listener, which belong to no application.
    private static let ofNoApplication = [
        "/openapi.json", "/.well-known/jwks.json", "/.well-known/webauthn", "/.well-known/assetlinks.json",
        "/.well-known/apple-app-site-association", "/.well-known/change-password",
    ]

    private static let methods: Set<Substring> = ["GET", "PUT", "POST", "PATCH", "DELETE"]

    private static func label<Context>(_ route: Router<Context>.RouteDescription) -> String {
        label(route.method, route.path.description[...])
    }

    private static func label(_ method: HTTPRequest.Method, _ path: Substring) -> String {
        "\(method.rawValue) \(path)"
    }

    /// Returns the cells of the page's table rows whose first cell is code, without links and code marks.
    private static func codeRows(_ page: String) throws -> [[String]] {
        try OpenAPIDocument.file(page).split(separator: "\n").filter { $0.hasPrefix("| `") || $0.hasPrefix("| [`") }.map
        { line in
            line.dropFirst().split(separator: "|").map { cell in
                let code = cell.split(separator: "`", omittingEmptySubsequences: false)
                return code.count == 3
                    ? String(code[1]) : cell.trimmingPrefix(" ").split(separator: " ").joined(separator: " ")
            }
        }
    }
}

/// An OpenAPI document of the repository.
private struct OpenAPIDocument {
    let json: JSONObject

    init(_ name: String) throws {
        json = try #require(try JSONParser.parse(Self.text(name), limits: .stored).object)
    }

    static func text(_ name: String) throws -> String { try file("docs/openapi/\(name).json") }

    static func file(_ path: String) throws -> String {
        try String(contentsOfFile: PackageLayout.path(path), encoding: .utf8)
    }

    /// Operations by method and path, such as `GET /health/live`.
    var operations: [String: JSONObject] {
        var operations: [String: JSONObject] = [:]
        for path in json["paths"]?.object?.members ?? [] {
            for member in path.value.object?.members ?? [] where member.key != "servers" {
                operations["\(member.key.uppercased()) \(path.key)"] = member.value.object
            }
        }
        return operations
    }

    /// Every JSON object outside of examples, with the path of keys and indices that leads to it.
    var objects: [(place: [String], object: JSONObject)] {
        var found: [(place: [String], object: JSONObject)] = []
        var rest: [([String], JSONValue)] = [([], .object(json))]
        while let (place, value) = rest.popLast() {
            for (index, element) in (value.array ?? []).enumerated() { rest.append((place + ["\(index)"], element)) }
            guard let object = value.object else { continue }
            found.append((place, object))
            for member in object.members where !["example", "examples", "default"].contains(member.key) {
                rest.append((place + [member.key], member.value))
            }
        }
        return found
    }

    /// The target of every `$ref`, such as `#/components/headers/RequestId`.
    var references: Set<String> {
        var (references, rest): (Set<String>, [JSONValue]) = ([], [.object(json)])
        while let value = rest.popLast() {
            rest += value.array ?? []
            for member in value.object?.members ?? [] {
                if member.key == "$ref", let text = member.value.string { references.insert(text) }
                rest.append(member.value)
            }
        }
        return references
    }

    func has(_ reference: String) -> Bool {
        let keys = reference.split(separator: "/").dropFirst().map { String($0).replacing("~1", with: "/") }
        return keys.reduce(JSONValue?.some(.object(json))) { $0?.object?[$1] } != nil
    }

    /// Returns the parameters of an operation, with references to `components/parameters` resolved.
    func parameters(of operation: JSONObject) -> [(name: String, place: String)] {
        let shared = json["components"]?.object?["parameters"]?.object
        return (operation["parameters"]?.array ?? []).compactMap(\.object).compactMap { parameter in
            let key = parameter["$ref"]?.string?.split(separator: "/").last.map { String($0) }
            let found = key.map { shared?[$0]?.object } ?? parameter
            guard let name = found?["name"]?.string, let place = found?["in"]?.string else { return nil }
            return (name, place)
        }
    }
}
