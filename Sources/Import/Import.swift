// Import — users of another system, as its export tells of them.
//
// It owns how a file falls into records (CSV, lines of JSON, a JSON array), how a record of each source becomes one
// neutral user, which id that user gets, and what of it goes into which property of an application, by name or by a
// mapping. A record that cannot become a user is refused with a reason that repeats no value.
//
// It must not know of files, of the database or of hashing: bytes come from whoever holds the file, hashes of passwords
// leave as they were read, and users are written by others. Nothing of a file is kept but the record at hand, so memory
// does not grow with it. Sessions and tokens of a source are never read.

import Vocabulary

/// Where users come from; the raw value is the word of the command line.
package enum ImportSource: String, Sendable, CaseIterable {
    case backendless, firebase, parse, auth0, cognito, supabase, csv, ndjson

    /// The type that reads its records.
    func reader(columns: [SystemField: String]) -> any UserSource {
        switch self {
        case .backendless: BackendlessSource()
        case .firebase: FirebaseSource()
        case .parse: ParseSource()
        case .auth0: Auth0Source()
        case .cognito: CognitoSource()
        case .supabase: SupabaseSource()
        case .csv, .ndjson: PlainSource(columns: columns)
        }
    }
}

/// What makes a user of a record.
protocol UserSource: Sendable {
    /// The user that a record tells of.
    ///
    /// The record has the members of a JSON object, or texts by the names of the columns.
    ///
    /// - Throws: Why it is none.
    func user(_ record: JSONObject) throws(RecordRefusal) -> ImportedUser
}
