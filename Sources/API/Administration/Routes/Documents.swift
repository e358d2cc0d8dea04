import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let documents: [AdministrationRoute] = [
        .init(.get, "applications/{application}/document", .viewer) { call in
            .resource(try await call.administration.documents.read(of: call["application"]))
        },
        .init(.put, "applications/{application}/document", .owner, query: ["dryRun"], factor: .within5Minutes) { call in
            let dryRun = try dryRun(call.query["dryRun"])
            let precondition = try call.precondition
            let value = try await call.document()
            do {
                let document = try call.administration.documents.parse(value)
                guard document.id.text.hasSameBytes(as: call["application"]) else {
                    throw DocumentProblems(JSONPointer() / "application", "must be the application of the path")
                }
                let plan =
                    if dryRun {
                        try await call.administration.documents.plan(document, environment: { _ in nil })
                    } else {
                        try await call.administration.documents.apply(
                            document,
                            environment: { _ in nil },
                            if: precondition,
                            by: call.actor
                        )
                    }
                return .value(plan.json)
            } catch let problems as DocumentProblems {
                throw problems.failure
            }
        },
    ]

    private static func dryRun(_ text: String?) throws(Failure) -> Bool {
        switch text {
        case nil, "false": false
        case "true": true
        default: throw Failure(.malformedRequest, "dryRun must be true or false.")
        }
    }
}
