import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let mappings: [AdministrationRoute] = {
        let mapping = "applications/{application}/mappings/{provider}"
        return [
            .init(.get, mapping, .viewer) { call in
                .resource(try await call.administration.mappings.read(for: call.provider, of: call["application"]))
            },
            .init(.put, mapping, .editor) { call in
                .resource(
                    try await call.administration.mappings.put(
                        for: call.provider,
                        of: call["application"],
                        call.document(),
                        if: call.precondition,
                        by: call.actor
                    )
                )
            },
            .init(.get, mapping + "/revisions", .viewer, query: .page) { call in
                .page(
                    try await call.administration.mappings.revisions(
                        for: call.provider,
                        of: call["application"],
                        call.page
                    )
                )
            },
            .init(.get, mapping + "/revisions/{revision}", .viewer) { call in
                guard let revision = revision(call["revision"]) else {
                    throw Failure(.notFound, "There is no such revision of the mapping.")
                }
                return .resource(
                    try await call.administration.mappings.revision(
                        revision,
                        for: call.provider,
                        of: call["application"]
                    )
                )
            },
            .init(.get, mapping + "/diff", .viewer, query: ["from", "to"]) { call in
                guard let from = try call.query.integer("from"), let to = try call.query.integer("to") else {
                    throw Failure(.malformedRequest, "from and to must name the two revisions.")
                }
                return .value(
                    try await call.administration.mappings.difference(
                        from: from,
                        to: to,
                        for: call.provider,
                        of: call["application"]
                    )
                )
            },
            .init(.post, mapping + "/rollback", .editor) { call in
                let document = try await call.document()
                guard let object = document.object, object.members.count == 1,
                    let revision = object["revision"]?.integer
                else {
                    let place = JSONPointer() / "revision"
                    throw DocumentProblems(place, "must be a whole number, and the only member of an object").failure
                }
                return .resource(
                    try await call.administration.mappings.rollBack(
                        for: call.provider,
                        of: call["application"],
                        to: revision,
                        if: call.precondition,
                        by: call.actor
                    )
                )
            },
            .init(.get, mapping + "/fields", .viewer) { call in
                .value(
                    try await call.administration.mappingPreviews.fields(of: call.provider, in: call["application"])
                )
            },
            .init(.post, mapping + "/preview", .viewer) { call in
                .value(
                    try await call.administration.mappingPreviews.preview(
                        for: call.provider,
                        of: call["application"],
                        call.document(),
                        by: call.actor
                    )
                )
            },
        ]
    }()

    private static func revision(_ text: String) -> Int64? {
        text.utf8.count <= 19 && text.utf8.allSatisfy(\.isASCIIDigit) ? Int64(text) : nil
    }
}
