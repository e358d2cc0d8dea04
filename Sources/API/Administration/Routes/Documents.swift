import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let documents: [AdministrationRoute] = [
        .init(.get, "applications/{application}/document", .viewer) { call in
            .resource(try await call.administration.documents.read(of: call["application"]))
        },
        .init(.put, "applications/{application}/document", .owner, query: ["dryRun"], factor: .within5Minutes) { call in
            let isDryRun = try call.isDryRun
            let precondition = try call.precondition
            let value = try await call.document()
            do {
                let document = try call.administration.documents.parse(value)
                guard document.id.text.hasSameBytes(as: call["application"]) else {
                    throw DocumentProblems(JSONPointer() / "application", "must be the application of the path")
                }
                let plan =
                    if isDryRun {
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
}
