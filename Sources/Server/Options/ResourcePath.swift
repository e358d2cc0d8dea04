import Administration
import AdministrationAPI
import ArgumentParser
import Description
import Domain
import Encodings
import HTTPTypes

/// The verb of a command: what the command does to a resource of the administration API.
enum ResourceVerb: String, CaseIterable {
    case get, list, set, patch, delete

    func calls(_ route: AdministrationRoute) -> Bool {
        switch self {
        case .get: route.method == .get && route.item == nil
        case .list: route.method == .get && route.item != nil
        case .set: route.method == .put || route.method == .post
        case .patch: route.method == .patch
        case .delete: route.method == .delete
        }
    }

    /// The resource paths that can follow the verb on the command line, with summaries, for the help text.
    ///
    /// If the document of a new resource has a member with the resource's name, the path may end with this name.
    var paths: [(template: String, summary: String)] {
        AdministrationRoute.resources.filter(calls).map { route in
            let name = ResourcePath.naming(route).map { "[/{\($0)}]" } ?? ""
            return (route.template + name, route.summary)
        }
    }
}

/// The path of a resource in the administration API, as an operator typed it: its route and the values of its
/// parameters.
struct ResourcePath {
    let text: String
    let route: AdministrationRoute
    let segments: [String: Substring]
    /// The name at the end of the path of a resource that the command creates, and the member of the document for this
    /// name.
    ///
    /// Nil if the path does not end with the name of a new resource.
    let named: (member: String, value: String)?

    /// Parses the path in a command with the given verb.
    ///
    /// - Throws: `ValidationError` if the verb is not available for the path. The message names a similar path.
    init(_ text: String, _ verb: ResourceVerb) throws {
        guard let found = Self.find(text, verb) else { throw ValidationError(Self.problem(text, verb)) }
        self = found
    }

    private init(
        _ text: String,
        _ route: AdministrationRoute,
        _ segments: [String: Substring],
        named: (member: String, value: String)? = nil
    ) {
        (self.text, self.route, self.segments, self.named) = (text, route, segments, named)
    }

    /// The last name in the path, percent-decoded.
    ///
    /// The operator must repeat the name to confirm a removal.
    var name: String {
        let segments = zip(route.template.split(separator: "/"), text.split(separator: "/"))
        return Array(segments).last { $0.0.hasPrefix("{") }.flatMap { PercentEncoding.decode($0.1) } ?? ""
    }

    /// The query parameters that operators write as `NAME=VALUE`.
    ///
    /// Commands have options for the other query parameters.
    var query: [Parameter] {
        route.query.filter { !["limit", "cursor", "confirm", "format"].contains($0.name) }
    }

    /// The schema of the JSON document that the command sends; nil if it sends none.
    var document: Schema? { route.document(at: segments) }

    /// Reads the resource at the path from the administration; nil if it does not exist.
    func current(by actor: ChangeAuthor, of administration: Administration) async throws -> Resource? {
        let reading = try ResourcePath(text, .get)
        do {
            let answer = try await reading.route.call(reading.segments, by: actor, of: administration)
            if case .resource(let resource) = answer { return resource }
        } catch let failure as Failure where failure.reason == .notFound {}
        return nil
    }

    /// Returns the names of the list elements that the stored document has and the new document does not have.
    ///
    /// A name is, for example, `apps.1234`.
    func elements(of current: JSONValue, without document: JSONValue?) -> [String] {
        let kept = self.document?.elementNames(in: document) ?? []
        return (self.document?.elementNames(in: current) ?? []).filter { !kept.contains($0) }
    }

    var takesPages: Bool { route.query.contains { $0.name == "limit" } }

    private static func find(_ text: String, _ verb: ResourceVerb) -> ResourcePath? {
        let path = text.split(separator: "/", omittingEmptySubsequences: false)
        let routes = AdministrationRoute.resources.filter(verb.calls)
        for route in routes {
            if let segments = route.segments(of: path) { return ResourcePath(text, route, segments) }
        }
        guard verb == .set, let last = path.last, !last.isEmpty, let value = PercentEncoding.decode(last) else {
            return nil
        }
        for route in routes {
            if let member = naming(route), let segments = route.segments(of: path.dropLast()) {
                return ResourcePath(text, route, segments, named: (member, value))
            }
        }
        return nil
    }

    /// Returns the name of the document's member in which a client states the name of a new resource.
    ///
    /// Nil if the service generates the resource's id.
    fileprivate static func naming(_ route: AdministrationRoute) -> String? {
        guard route.method == .post else { return nil }
        return route.document()?.resolved.properties.first { member in
            let template = route.template + "/{\(member.name)}"
            return member.isRequired && AdministrationRoute.resources.contains { $0.template == template }
        }?.name
    }

    private static func problem(_ text: String, _ verb: ResourceVerb) -> String {
        let others = ResourceVerb.allCases.filter { find(text, $0) != nil }.map { "federation \($0) \(text)" }
        guard others.isEmpty else {
            return "\(verb) is not available for \(text). Use: \(others.joined(separator: ", "))."
        }
        let path = text.split(separator: "/", omittingEmptySubsequences: false)
        let known = AdministrationRoute.resources.map(\.template).filter { template in
            template.split(separator: "/").count == path.count
        }.map { template in
            zip(template.split(separator: "/"), path).map { $0.hasPrefix("{") ? $1 : $0 }.joined(separator: "/")
        }
        let hint = NearestName.hint(for: text, among: known)
        return "Unknown path \(text)\(hint). federation \(verb) --help lists the paths."
    }
}
