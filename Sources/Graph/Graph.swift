// Graph — what we ask of Facebook's Graph API, and how we read what it answers.
//
// Owns: the two questions of a login (`debug_token` and `/me`), the proof that goes with them, the meaning of every error that
// Graph gives in our own reasons, and the manners towards Graph: what is asked again and how often, when nobody is asked at
// all (`CircuitBreaker`), how much of an app's allowance is used (`Usage`).
//
// Must not know: whether a login succeeds. It gathers `AccessTokenEvidence` and passes no verdict on it; that is
// Verification's. It knows neither mappings nor the database, and there is no branch in it for a simulated Graph.
//
// Nothing that Graph writes reaches a message: its texts can quote the token ("Malformed access token …"). They are only
// compared with known phrases; codes, and names in plain ASCII of bounded length, are all that is taken out of a reply's error.
