import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let invitations: [AdministrationRoute] = [
        .init(.get, invitationList, .viewer, query: ["state"] + .page) { call in
            .page(
                try await call.administration.invitations.list(
                    of: call["application"],
                    in: call.query["state"],
                    call.page
                )
            )
        },
        .init(.post, invitationList, .editor) { call in
            let document = try await call.document()
            try await call.requireRight(toGiveRolesBy: document)
            let made = try await call.administration.invitations.create(
                document,
                in: call["application"],
                by: call.actor
            )
            return .created(made, at: ["applications", call["application"], "invitations", made.text("id")])
        },
        .init(.get, invitation, .viewer) { call in
            .resource(try await call.administration.invitations.read(call["invitationId"], of: call["application"]))
        },
        .init(.delete, invitation, .editor) { call in
            try await call.administration.invitations.revoke(
                call["invitationId"],
                in: call["application"],
                by: call.actor
            )
            return .done
        },
        .init(.post, invitation + "/send", .editor) { call in
            .resource(
                try await call.administration.invitations.send(
                    call["invitationId"],
                    in: call["application"],
                    by: call.actor
                )
            )
        },
    ]

    private static let invitationList = "applications/{application}/invitations"
    private static let invitation = invitationList + "/{invitationId}"
}
