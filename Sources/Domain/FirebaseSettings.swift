import Description
import Encodings

/// Whether clients that speak the protocol of Firebase Authentication may use an application, and what they see.
package struct FirebaseSettings: Sendable, Equatable {
    /// The id of the Firebase project that ID tokens name (`aud`); nil if such clients are not served.
    package var projectID: String?
    /// The property that clients read and write as `displayName`.
    package var displayName = PropertyName.name
    /// The property that clients read and write as `photoURL`.
    package var photoURL = PropertyName(known: "photoUrl")
    /// The property that clients read as `phoneNumber`.
    package var phoneNumber = PropertyName(known: "phoneNumber")
    /// Whether users can log in by a link that is mailed to them.
    package var emailLinks = false

    package init() {}

    static let description = ObjectDescription(
        FirebaseSettings(),
        unknown: "is not a setting of firebase",
        [
            Field(
                "projectId",
                \.projectID,
                Codec.text(projectRule).orNull,
                "project id",
                """
                The id of the Firebase project, which ID tokens name and your backends check. null: no client of \
                Firebase is served.
                """
            ),
            property("displayName", \.displayName, "displayName"),
            property("photoUrl", \.photoURL, "photoURL"),
            property("phoneNumber", \.phoneNumber, "phoneNumber, which they cannot write"),
            Field(
                "emailLinks",
                \.emailLinks,
                .flag,
                "links by mail",
                "Whether users can log in, and become users, by a link that is mailed to them."
            ),
        ]
    )

    private static func property(
        _ name: String,
        _ path: any WritableKeyPath<FirebaseSettings, PropertyName> & Sendable,
        _ member: String
    ) -> Field<FirebaseSettings> {
        Field(
            name,
            path,
            .text(PropertyName.rule, { PropertyName($0) }, text: \.text),
            name,
            "The property that clients see as \(member). Without such a property they see none."
        )
    }

    /// The form of a project's id (docs/protocols/firebase.md §1).
    private static let projectRule = TextRule(
        "must be a project id: 6 to 30 lower-case letters, digits and dashes, beginning with a letter",
        pattern: namePattern,
        example: "my-project-1a2b3"
    ) { isName($0) }

    /// The form of the names that Google gives to projects and to service accounts.
    package static let namePattern = "^[a-z][a-z0-9-]{4,28}[a-z0-9]$"

    /// Returns whether a text can be the name of a project or of a service account.
    package static func isName(_ text: String) -> Bool {
        (6...30).contains(text.utf8.count) && text.utf8.first.map(\.isASCIILowercase) == true && !text.hasSuffix("-")
            && text.utf8.allSatisfy { $0.isASCIILowercase || $0.isASCIIDigit || $0 == UInt8(ascii: "-") }
    }
}
