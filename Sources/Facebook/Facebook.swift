// Facebook — the provider kind for Facebook.
//
// Owns: the provider kind `facebook` and its provider in an application (`FacebookKind`, `FacebookProvider`); the
// fields of a profile; the checks of kept tokens.
//
// The folder `Graph` sends requests to Facebook and interprets its errors. The folder `Credentials` tells the kinds of
// tokens apart and implements decision D2: the two responses about an access token must agree with each other and with
// the application. The folder `Callbacks` reads Facebook's callbacks. The folder `Settings` has the options and their
// form in documents.
//
// Must not know: the client, or what a login does with the verified user (mappings, the database). Code that sends
// requests decides nothing, and code that decides sends no requests: `Credentials` and `Callbacks` are pure functions
// of evidence, secrets and time.
