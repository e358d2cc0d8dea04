package import Mapping

// Facebook's user fields (docs/protocols/facebook.md §2).

extension ProfileFields {
    private static let named = FieldShape.object(["id": .digits, "name": .text])
    private static let people = FieldShape.object([
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
            "friends": ("user_friends", people),
            "permissions": (nil, .object(["data": .list(of: .object(["permission": .text, "status": .text]))])),
            "token_for_business": (nil, .text),
            "ids_for_business": (nil, .object(["data": .list(of: .object(["id": .digits, "app": named]))])),
        ]
    )
}
