package import Description
import Domain

// The schemas of failures, with the details that use cases fill in.

extension Schema {
    /// Returns the schema of the response body that a `NumberedErrorTable` writes for a failure.
    ///
    /// - Parameters:
    ///   - further: Further optional members of `errorData`, which only the failures of one listener have.
    ///   - problem: The schema of an element of `problems`, the list for a failure with several problems.
    /// - Returns: The schema.
    package static func problem(optional further: KeyValuePairs<String, Schema>, each problem: Schema) -> Schema {
        let details = Schema.object(
            ["reason": .reason, "requestId": .string],
            optional: [
                "offset": .integer.described("The byte at which a body goes wrong."),
                "allow": .string,
                "entry": .mappingEntry,
                "permission": .string.described(
                    "With permission_missing: the Facebook permission to request again, with auth_type=rerequest."
                ),
                "field": .string,
                "leftOut": .leftOut.described(
                    "With profile_incomplete: why the value of the field is left out."
                ),
                "property": .string,
                "properties": .strings.described(
                    "With property_undeclared and property_undeclared_in_update: the names."
                ),
                "constraint": .string,
                "graphCode": .integer,
                "twitterCode": .integer.described("Twitter's own number of an error."),
                "graphSubcode": .integer,
                "graphType": .string,
                "fbtraceId": .string,
            ]
        )
        return object([
            "code": .integer,
            "message": .string.described("For humans, with what to do next. The text may change."),
            "errorData": details.adding(optional: ["problems": .array(of: problem)]).adding(optional: further),
        ]).described("The form of all errors.").named("Problem")
    }

    package static let reason = Schema.cases(of: Failure.Reason.self).described(
        "The reason, for programs. It is stable."
    )
    .named("Reason")

    package static let mappingEntry = Schema.object(
        ["mapping": .oneOf("stored", "client"), "position": .integer.from(0)],
        optional: ["from": .string, "to": .string, "type": .propertyType]
    ).named("MappingEntry")

    package static let propertyType = Schema.cases(of: PropertyType.self).named("PropertyType")

    /// The schema of the reason why the service leaves out a field of the profile that a provider sent.
    package static let leftOut = oneOf("tooLong", "controlCharacters", "notAnEmail", "notAURL", "credential")
}
