// Facebook — everything that is Facebook's.
//
// Owns: the kind of provider `facebook` and what an application's own is (`FacebookKind`, `FacebookProvider`); in
// `Graph` what is asked of Facebook and the meaning of its errors; in `Credentials` the telling apart of token kinds
// and decision D2 (the two replies about an access token and the application must agree); in `Callbacks` what Facebook
// calls us with; in `Settings` the options and their form in documents; the fields of a person, and what kept tokens
// are still worth.
//
// Must not know: what is done with a person who was verified (mappings, the database), or who asks. What asks passes no
// judgement, and what judges cannot ask: `Credentials` and `Callbacks` are pure functions of evidence, secrets and
// time.
