import Administration
import Federation
import Hummingbird
import Vocabulary
import Logging

extension AdministrationRoute {
    /// Mounts the route: role, path, query, then what it does.
    func mount(on router: Router<ManagementContext>, administration: Administration) {
        router.on(RouterPath(path), method: method) { request, context in
            guard let caller = context.caller else { throw OperatorGate.refusal }
            guard caller.role >= role else {
                context.logger.notice(
                    "operator refused",
                    metadata: [
                        "reason": "\(Failure.Reason.operatorForbidden.rawValue)", "operator": "\(caller.name)",
                        "route": "\(method.rawValue) \(path)",
                    ]
                )
                await administration.noteRefusal(
                    of: "\(method.rawValue) \(String(decoding: request.uri.path.utf8.prefix(200), as: UTF8.self))",
                    application: Self.application(in: context),
                    actor: caller.actor
                )
                throw Failure(
                    .operatorForbidden,
                    "This needs the role \(role.rawValue); yours is \(caller.role.rawValue).",
                    details: ["role": .string(role.rawValue)]
                )
            }
            let call = try AdministrationCall(
                request,
                of: self,
                context: context,
                caller: caller,
                administration: administration
            )
            return try await handler(call).response(to: request)
        }
    }

    /// The application that a refused request was about, if it can be one.
    private static func application(in context: ManagementContext) -> String? {
        context.parameters["application"].flatMap { PercentEncoding.decode($0) }.flatMap { ApplicationID($0)?.text }
    }
}
