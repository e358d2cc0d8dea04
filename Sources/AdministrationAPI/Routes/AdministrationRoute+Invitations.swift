import Administration
import Description
import Domain
import HTTPTypes

extension AdministrationRoute {
    static let invitations: [AdministrationRoute] = [
        .init(
            .get,
            invitationList,
            .viewer,
            query: [.stateOfInvitations] + .page,
            Operation(
                "listInvitations",
                "Lists invitations, newest first.",
                .page(of: .invitation, "A page of invitations.")
            )
        ) { call in
            .page(
                try await call.administration.invitations.list(
                    of: call["application"],
                    in: call.query[.stateOfInvitations],
                    call.page
                )
            )
        },
        .init(
            .post,
            invitationList,
            .editor,
            Operation(
                "createInvitation",
                "Creates an invitation for a new user.",
                more:
                    """
                    Assigning roles needs the role owner, and a second factor within five minutes. The link is sent to \
                    the address. It is single-use: anyone who has it can become a user.
                    """,
                body: Content(
                    .newInvitation,
                    examples: [
                        "mail": #"{"email": "ann@example.com", "roles": ["editors"], "locale": "de"}"#,
                        "identity": #"{"identity": {"provider": "facebook", "subject": "10223456789012345"}}"#,
                    ]
                ),
                .created(
                    .createdInvitation,
                    "The invitation. Only this response has its link, if it was not sent.",
                    tagged: false
                ),
                or: [.conflict]
            )
        ) { call in
            let document = try await call.document()
            try await call.requireRight(toGiveRolesBy: document)
            let made = try await call.administration.invitations.create(
                document,
                in: call["application"],
                by: call.actor
            )
            return .created(made, at: ["applications", call["application"], "invitations", made.text("id")])
        },
        .init(
            .get,
            invitation,
            .viewer,
            Operation("readInvitation", "An invitation.", .value(.invitation, "The invitation."))
        ) { call in
            .resource(try await call.administration.invitations.read(call["invitationId"], of: call["application"]))
        },
        .init(
            .delete,
            invitation,
            .editor,
            Operation("revokeInvitation", "Revokes an invitation that has not been accepted.", .done, or: [.conflict])
        ) { call in
            try await call.administration.invitations.revoke(
                call["invitationId"],
                in: call["application"],
                by: call.actor
            )
            return .done
        },
        .init(
            .post,
            invitation + "/send",
            .editor,
            Operation(
                "sendInvitation",
                """
                Sends an open invitation again with a new link, which replaces the former link and has the full \
                lifetime.
                """,
                .value(.invitation, "The invitation."),
                or: [.conflict]
            )
        ) { call in
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

extension Parameter {
    static let stateOfInvitations = Parameter("state", in: .query, .invitationState, "Only those in this state.")
}

extension Schema {
    static let invitationState = Schema.oneOf("open", "expired", "accepted").named("InvitationState")

    static let invitedIdentity = Schema.object([
        "provider": .string,
        "appId": .string,
        "subject": .string,
    ]).named("InvitedIdentity")

    static let invitation = Schema.object(
        [
            "id": .uuid,
            "state": .invitationState,
            "roles": .strings,
            "properties": .anyObject.open,
            "locale": .string.nullable.described("The language of its mails."),
            "invitedBy": .string.described("The operator."),
            "created": .moment,
            "expires": .moment,
            "sent": .long.described("How often a link was sent."),
            "lastSent": .moment.nullable,
            "accepted": .moment.nullable,
            "objectId": .string.nullable.described("The user who accepted it."),
        ],
        optional: [
            "email": .string,
            "phone": .string.described("In the format E.164."),
            "identity": .invitedIdentity,
        ]
    ).described("It has one of email, phone and identity.").named("Invitation")

    static let createdInvitation =
        invitation
        .adding(optional: ["link": .string.secret.described("Only a hash of its token is stored.")])
        .described("As Invitation, with the link if it was not sent.").named("CreatedInvitation")

    static let newInvitation = Schema.object(optional: [
        "email": .string.length(upTo: 254).nullable,
        "phone": .string.length(upTo: 40).nullable.described("With + and the country code. The link is sent by SMS."),
        "identity": .object(
            [
                "provider": .string,
                "subject": .string,
            ],
            optional: ["appId": .string.nullable.described("Optional if the application has only one app there.")]
        ).nullable.described("The identity whose login accepts it, without a link."),
        "roles": .strings.nullable.described("Roles of the application for the user."),
        "properties": .anyObject.open.nullable.described("Values of declared properties for the user."),
        "expiresInSeconds": .long.range(86_400...7_776_000).nullable.described("The default is a week."),
        "send": .boolean.nullable.described("Whether to send the link. The default is true, except for an identity."),
        "locale": .string.length(upTo: 35).nullable.described("The language of its mails, such as de."),
    ]).described("It has one of email, phone and identity.").named("NewInvitation")
}
