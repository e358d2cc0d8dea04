package import Federation
package import Hummingbird

/// The public listener: everything that client SDKs call.
package enum PublicAPI {
    /// The routes, wired to the use cases.
    package static func router(federation: Federation, directory: ApplicationDirectory) -> Router<APIContext> {
        let router = Router(context: APIContext.self)
        // Outermost, so that pages of other origins can read errors, too.
        router.add(middleware: CORSMiddleware(directory: directory))
        router.add(middleware: ReplyMiddleware())
        router.get("/openapi.json") { _, _ in Response.json(OpenAPI.public) }
        let routes = ApplicationRoutes(router: router, directory: directory)
        LoginRoutes(federation: federation).mount(on: routes)
        DialogRoutes(federation: federation).mount(on: routes)
        NonceRoutes(federation: federation).mount(on: routes)
        SessionRoutes(federation: federation).mount(on: routes)
        IdentityRoutes(federation: federation).mount(on: routes)
        UserRoutes(federation: federation).mount(on: routes)
        CallbackRoutes(federation: federation).mount(on: routes)
        router.add(middleware: MethodNotAllowed(router))
        return router
    }
}
