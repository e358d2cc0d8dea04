import Encodings
package import Mapping

// The fields of Twitter's user object in API 1.1 (docs/protocols/twitter.md §1). The app's settings at Twitter decide
// which fields the app may read, and the user has no choice. The user object has an e-mail address if the app may read
// it and the user has confirmed one.

extension ProfileFields {
    package static let twitter = ProfileFields(
        of: "Twitter",
        [
            "id": (nil, .integer),
            "id_str": (nil, .digits),
            "name": (nil, .text),
            "screen_name": (nil, .text),
            "email": (nil, .email),
            "location": (nil, .text),
            "description": (nil, .prose),
            "url": (nil, .url),
            "lang": (nil, .text),
            "created_at": (nil, .text),
            "verified": (nil, .boolean),
            "protected": (nil, .boolean),
            "followers_count": (nil, .integer),
            "friends_count": (nil, .integer),
            "statuses_count": (nil, .integer),
            "listed_count": (nil, .integer),
            "favourites_count": (nil, .integer),
            "profile_image_url_https": (nil, .url),
            "profile_banner_url": (nil, .url),
            "default_profile": (nil, .boolean),
            "default_profile_image": (nil, .boolean),
        ],
        sample: [
            "id": .integer(1_234_567_890_123), "id_str": .string("1234567890123"), "name": .string("Nora Nordmann"),
            "screen_name": .string("nora_nordmann"), "email": .string("nora@example.com"), "location": .string("Oslo"),
            "description": .string("Rows at night."), "url": .string("https://nora.example.com"), "lang": .string("nb"),
            "created_at": .string("Wed May 06 07:08:09 +0000 2015"), "verified": .bool(false),
            "protected": .bool(false),
            "followers_count": .integer(137), "friends_count": .integer(42), "statuses_count": .integer(1001),
            "listed_count": .integer(3), "favourites_count": .integer(256),
            "profile_image_url_https": .string("https://example.com/nora.jpg"),
            "profile_banner_url": .string("https://example.com/nora-banner.jpg"),
            "default_profile": .bool(false), "default_profile_image": .bool(false),
        ],
        synonyms: ["username": "screen_name"]
    )
}
