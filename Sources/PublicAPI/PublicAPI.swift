// PublicAPI — the public listener: everything that clients and users call.
//
// This module owns the router with the client protocols side by side, the requirements of a protocol
// (`ClientProtocol`), and the way from a request to its application (`ApplicationRoutes`). It also owns the routes that
// belong to no protocol: callbacks of providers, pages of login dialogs and of users, published keys, and the files by
// which a domain names its apps.
//
// It must not know a client protocol, SQL, Graph or the administration. It sees HTTP, pages and the use cases, and gets
// the protocols from its caller.

package import Accounts
package import Applications
import EmbeddedFiles
package import HTTP
package import Hummingbird
import Pages
import Secrets

/// The public listener: all routes that clients and users call.
package struct PublicListener {
    let protocols: ClientProtocols
    let routes = DescribedRouter()

    package var router: Router<APIContext> { routes.router }

    /// The addresses that the listener serves under another path.
    package var aliases: PathAliases {
        PathAliases(hosts: protocols.all.flatMap(\.hostNames), beginnings: protocols.all.flatMap(\.pathAliases))
    }

    /// Mounts the routes of the public listener.
    ///
    /// - Parameters:
    ///   - protocols: The client protocols. The first one determines the HTTP statuses of errors on pages, and gets the
    ///     paths that belong to no other protocol.
    ///   - useCases: The internal operations that the routes call.
    ///   - directory: The applications.
    ///   - trustedProxies: The number of proxies in front of the service. The header `X-Forwarded-For` that they set
    ///     names the source of a request.
    package init(
        of protocols: ClientProtocols,
        useCases: UseCases,
        directory: ApplicationDirectory,
        trustedProxies: Int = 0
    ) {
        self.protocols = protocols
        router.add(middleware: RequestMetrics<APIContext>(listener: "public"))
        router.add(middleware: RequestSpans<APIContext>(listener: "public"))
        router.add(middleware: PeerMiddleware<APIContext>(trustedProxies: trustedProxies))
        // This middleware precedes everything that responds, so that pages of other origins can read errors, too.
        router.add(middleware: CORSMiddleware(protocols: protocols))
        router.add(middleware: ReplyMiddleware<APIContext> { protocols[$0].errors })
        let proxyCheck = ProxyCheck(trustedProxies: trustedProxies, warnings: useCases.warnings)
        router.add(middleware: RequestCheck<APIContext> { proxyCheck.inspect($0) })
        let pseudonyms = useCases.pseudonyms
        let refusals = RefusalLog { pseudonyms.pseudonym(of: $0, in: $1) }
        routes.get("/openapi.json", .readOpenAPI) { _, _ in .json(EmbeddedFiles.publicOpenAPI) }
        let ofApplications = ApplicationRoutes(
            on: routes,
            of: protocols,
            directory: directory,
            refusals: refusals,
            rateLimiter: useCases.rateLimiter
        )
        for client in protocols.all {
            client.mount(on: ofApplications)
            client.mount(onRoot: routes, logging: refusals)
        }
        CallbackRoutes(useCases).mount(on: ofApplications)
        let segments = protocols.applicationSegments
        LinkPages(useCases, directory: directory, refusals: refusals, errors: protocols.first.errors)
            .mount(on: routes, below: segments)
        AccountPages(useCases, directory: directory, refusals: refusals, errors: protocols.first.errors)
            .mount(on: routes, below: segments)
        PublishedKeys(tokens: useCases.tokens, directory: directory).mount(on: routes, below: segments)
        PasskeyFiles(directory: directory, links: useCases.accountLinks).mount(on: routes)
        router.add(middleware: MethodNotAllowed(router))
    }
}
