import Applications
import HTTP
import Hummingbird
import Vocabulary

/// Where the passkeys of a domain are used besides it, which browsers ask the domain itself (WebAuthn level 3 §5.11).
///
/// Several applications may share the domain; apps, whose origins are no addresses, are not asked for.
struct RelatedOrigins {
    let directory: ApplicationDirectory

    func mount(on router: Router<APIContext>) {
        router.get("/.well-known/webauthn") { request, _ in try reply(to: request.hostName ?? "") }
    }

    private func reply(to host: Substring) throws(Failure) -> Response {
        let policies = directory.applications.map(\.application.settings.secondFactor.passkeys)
            .filter { $0.relyingPartyID?.utf8.elementsEqual(host.utf8) == true }
        guard !policies.isEmpty else {
            throw Failure(.notFound, "No application has passkeys for this host.")
        }
        let origins = Set(policies.flatMap(\.origins).filter { $0.utf8.starts(with: "https://".utf8) }).sorted()
        var writer = JSONWriter(capacity: 256)
        writer.object { $0.member("origins", .array(origins.map(JSONValue.string))) }
        return .json(writer)
    }
}
