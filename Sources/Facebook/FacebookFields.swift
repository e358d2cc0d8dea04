import Encodings
package import Mapping

// The fields of a Facebook user (docs/protocols/facebook.md §2).

extension ProfileFields {
    private static let named = FieldShape.object(["id": .digits, "name": .text])
    private static let users = FieldShape.object([
        "data": .list(of: named), "summary": .object(["total_count": .integer]),
    ])

    package static let facebook = ProfileFields(
        of: "Facebook",
        [
            "id": (nil, .digits),
            "name": ("public_profile", .text),
            "first_name": ("public_profile", .text),
            "last_name": ("public_profile", .text),
            "middle_name": ("public_profile", .text),
            "short_name": ("public_profile", .text),
            "name_format": ("public_profile", .text),
            "picture": (
                "public_profile",
                .object([
                    "data": .object(["height": .integer, "is_silhouette": .boolean, "url": .url, "width": .integer])
                ])
            ),
            "email": ("email", .email),
            "birthday": ("user_birthday", .day),
            "age_range": ("user_age_range", .object(["min": .integer, "max": .integer])),
            "gender": ("user_gender", .text),
            "hometown": ("user_hometown", named),
            "location": ("user_location", named),
            "link": ("user_link", .url),
            "friends": ("user_friends", users),
            "permissions": (nil, .object(["data": .list(of: .object(["permission": .text, "status": .text]))])),
            "token_for_business": (nil, .text),
            "ids_for_business": (nil, .object(["data": .list(of: .object(["id": .digits, "app": named]))])),
        ],
        sample: [
            "id": .string("10223456789012345"), "name": .string("Nora Lee Nordmann"), "first_name": .string("Nora"),
            "last_name": .string("Nordmann"),
            "middle_name": .string("Lee"), "short_name": .string("Nora"), "name_format": .string("{first} {last}"),
            "picture": .object([
                "data": .object([
                    "height": .integer(50), "is_silhouette": .bool(false),
                    "url": .string("https://example.com/nora.jpg"),
                    "width": .integer(50),
                ])
            ]),
            "email": .string("nora@example.com"), "birthday": .string("05/17/1990"),
            "age_range": .object(["min": .integer(18), "max": .integer(20)]), "gender": .string("female"),
            "hometown": .object(["id": .string("111948542155151"), "name": .string("Bergen")]),
            "location": .object(["id": .string("108056275889020"), "name": .string("Oslo")]),
            "link": .string("https://www.facebook.com/nora"),
            "friends": .object([
                "data": .array([.object(["id": .string("10223456789054321"), "name": .string("Bo Berg")])]),
                "summary": .object(["total_count": .integer(137)]),
            ]),
            "permissions": .object([
                "data": .array([.object(["permission": .string("email"), "status": .string("granted")])])
            ]),
            "token_for_business": .string("AbyExample"),
            "ids_for_business": .object([
                "data": .array([
                    .object([
                        "id": .string("10223456789067890"),
                        "app": .object(["id": .string("1234567890"), "name": .string("The app for phones")]),
                    ])
                ])
            ]),
        ],
        synonyms: IDTokenProfile.fields,
        refusesUnknownFields: true
    )
}
