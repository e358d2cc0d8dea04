import Encodings
import Facebook
@testable import Mapping
import Testing

@Suite("The catalogue of a provider's fields")
struct ProfileFieldsTests {
    private let fields = ProfileFields.facebook

    @Test("the person who serves as an example has something at every path, and nothing that does not fit")
    func sample() throws {
        #expect(AdmittedProfile(fields.sample, by: fields).fields == fields.sample)
        #expect(Set(fields.sample.members.map(\.key)) == fields.names)
        for entry in fields.catalogue {
            let object = try #require(entry.object)
            let path = try #require(object["path"]?.string.flatMap(FieldPath.init))
            #expect(object["sample"]?.isNull == false, "\(path.text)")
            #expect(fields.shape(of: path) != nil, "\(path.text)")
        }
    }

    @Test("paths lead into objects and lists, in the order of the catalogue, with their permissions")
    func paths() {
        let entries = fields.catalogue.compactMap(\.object)
        #expect(entries.first?["path"]?.string == "id" && entries.first?["permission"]?.isNull == true)
        let pictures = entries.filter { $0["path"]?.string?.hasPrefix("picture.") ?? false }
        #expect(
            pictures.map { $0["path"]?.string } == [
                "picture.data.height", "picture.data.is_silhouette", "picture.data.url", "picture.data.width",
            ]
        )
        #expect(pictures.allSatisfy { $0["permission"]?.string == "public_profile" })
        let friend = entries.first { $0["path"]?.string == "friends.data.name" }
        #expect(friend?["sample"]?.string == "Bo Berg" && friend?["holds"]?.string == "text")
    }
}
