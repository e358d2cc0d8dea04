package import Mapping

// The user object of Twitter's API 1.1 (docs/protocols/twitter.md §1). Which of it an app may read is a matter of the
// app, not of the person; an e-mail address is there when the app may ask for it and the person has one that is
// confirmed.

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
            "profile_image_url_https": (nil, .url),
            "profile_banner_url": (nil, .url),
        ]
    )
}
