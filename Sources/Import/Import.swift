// Import — users from the exports of other systems.
//
// This module owns the division of a file into records (CSV, lines of JSON, a JSON array), the conversion of each
// source's records to one neutral user type, the id of each user, and the assignment of fields to an application's
// properties, by name or by a mapping. A record that cannot become a user is refused with a reason. The reason contains
// no value of the record.
//
// It must not know of files, of the database or of hashing. Callers supply the bytes and write the users. Password
// hashes pass unchanged. Only the current record is kept, so memory does not grow with the file. Sessions and tokens of
// a source are never read.

import Encodings

/// The system that exported the users.
///
/// The raw value is the name of the system on the command line and in requests.
package enum ImportSource: String, Sendable, CaseIterable {
    case backendless, firebase, parse, auth0, cognito, supabase, csv, ndjson

    /// Returns the converter of records from this system to users.
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

/// Converts records of an export file to users of this service.
///
/// Each type that conforms to it knows the export format of one other system.
protocol UserSource: Sendable {
    /// Returns the user that a record describes.
    ///
    /// The record of a JSON file has the members of the JSON object. The record of a CSV file has a text for each
    /// column, under the column's name.
    ///
    /// - Throws: The reason why the record is no user.
    func user(_ record: JSONObject) throws(RecordRefusal) -> ImportedUser
}
