// Facebook — the provider kind for Facebook.
//
// Owns: the provider kind `facebook` and its provider in an application (`FacebookKind`, `FacebookProvider`); the
// fields of a profile; the checks of kept tokens. Folder `Graph`: requests to Facebook and the meaning of its errors.
// Folder `Credentials`: telling kinds of tokens apart, and decision D2 (the two responses about an access token must
// agree with each other and with the application). Folder `Callbacks`: Facebook's callbacks. Folder `Settings`: the
// options and their form in documents.
//
// Must not know: what a login does with the verified user (mappings, the database), nor the client. Code that sends
// requests decides nothing, and code that decides sends no requests: `Credentials` and `Callbacks` are pure functions
// of evidence, secrets and time.
