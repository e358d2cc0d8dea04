package import Applications
package import Federation
package import HTTP
package import Hummingbird
import Secrets

/// The public listener: everything that clients call.
package enum PublicAPI {
    /// The routes, wired to the use cases.
    ///
    /// - Parameters:
    ///   - protocols: What clients speak. The first one has the pages and whatever is no path of another's.
    ///   - federation: The use cases.
    ///   - directory: The applications.
    ///   - trustedProxies: How many proxies stand in front, whose word of where a request comes from counts.
    /// - Returns: The router.
    package static func router(
        of protocols: ClientProtocols,
        federation: Federation,
        directory: ApplicationDirectory,
        trustedProxies: Int = 0
    ) -> Router<APIContext> {
        let router = Router(context: APIContext.self)
        router.add(middleware: RequestMetrics<APIContext>(listener: "public"))
        router.add(middleware: RequestSpans<APIContext>(listener: "public"))
        router.add(middleware: PeerMiddleware<APIContext>(trustedProxies: trustedProxies))
        // Around all that answers, so that pages of other origins can read errors, too.
        router.add(middleware: CORSMiddleware(protocols: protocols))
        router.add(middleware: ReplyMiddleware<APIContext> { protocols[$0].errors })
        router.add(middleware: RequestCheck<APIContext>())
        router.add(middleware: ProxyCheck(trustedProxies: trustedProxies, warnings: federation.warnings))
        let pseudonyms = federation.pseudonyms
        let refusals = RefusalLog { pseudonyms.pseudonym(of: $0, in: $1) }
        for client in protocols.all { client.mount(on: router, refusals: refusals) }
        let segments = protocols.applicationSegments
        LinkPages(
            passwordReset: federation.passwordReset,
            confirmation: federation.confirmation,
            reversal: federation.reversal,
            registrations: federation.registrations,
            directory: directory,
            refusals: refusals,
            errors: protocols.first.errors
        )
        .mount(on: router, below: segments)
        AccountPages(federation, directory: directory, refusals: refusals, errors: protocols.first.errors)
            .mount(on: router, below: segments)
        PublishedKeys(tokens: federation.tokens, directory: directory).mount(on: router, below: segments)
        PasskeyFiles(directory: directory, links: federation.accountLinks).mount(on: router)
        router.add(middleware: MethodNotAllowed(router))
        return router
    }
}
