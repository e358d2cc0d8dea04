import Testing
import Vocabulary

func application(_ name: String) throws -> ApplicationID { try #require(ApplicationID(name)) }
