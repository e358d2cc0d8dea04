package import Federation
package import Hummingbird

/// The public listener: everything that client SDKs call.
package enum PublicAPI {
    /// The routes, wired to the use cases.
    ///
    /// - Parameters:
    ///   - federation: The use cases.
    ///   - directory: The applications.
    ///   - trustedProxies: How many proxies stand in front, whose word of where a request comes from counts.
    /// - Returns: The router.
    package static func router(
        federation: Federation,
        directory: ApplicationDirectory,
        trustedProxies: Int = 0
    ) -> Router<APIContext> {
        let router = Router(context: APIContext.self)
        router.add(middleware: PeerMiddleware(trustedProxies: trustedProxies))
        // Around all that answers, so that pages of other origins can read errors, too.
        router.add(middleware: CORSMiddleware(directory: directory))
        router.add(middleware: ReplyMiddleware())
        router.add(middleware: RequestCheck())
        router.add(middleware: ProxyCheck(trustedProxies: trustedProxies, warnings: federation.warnings))
        router.get("/openapi.json") { _, _ in Response.json(OpenAPI.public) }
        let refusals = RefusalLog(pseudonyms: federation.pseudonyms)
        let routes = ApplicationRoutes(router: router, directory: directory, refusals: refusals)
        ApplicationInfoRoutes().mount(on: routes)
        RegistrationRoutes(federation: federation).mount(on: routes)
        SimpleRegisterRoutes(federation: federation).mount(on: routes)
        LoginRoutes(federation: federation).mount(on: routes)
        DialogRoutes(federation: federation).mount(on: routes)
        PasswordRoutes(federation: federation).mount(on: routes)
        PasswordMailRoutes(federation: federation).mount(on: routes)
        LinkPages(federation: federation, directory: directory, refusals: refusals).mount(on: router)
        NonceRoutes(federation: federation).mount(on: routes)
        SessionRoutes(federation: federation).mount(on: routes)
        TokenRoutes(federation: federation, directory: directory).mount(on: routes)
        OwnSessionRoutes(federation: federation).mount(on: routes)
        IdentityRoutes(federation: federation).mount(on: routes)
        ReverseAuthRoutes(federation: federation).mount(on: routes)
        UserRoutes(federation: federation).mount(on: routes)
        RoleRoutes(federation: federation).mount(on: routes)
        ServerRoutes(federation: federation).mount(on: routes)
        CallbackRoutes(federation: federation).mount(on: routes)
        router.add(middleware: MethodNotAllowed(router))
        return router
    }
}
