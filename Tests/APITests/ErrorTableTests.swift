@testable import AdministrationAPI
@testable import Backendless
import Domain
import Testing

@Suite("The error tables of Backendless and of the administration")
struct ErrorTableTests {
    @Test("give what both tell the same code and status", arguments: Failure.Reason.allCases)
    func common(reason: Failure.Reason) {
        let (ours, theirs) = (Problem.row(of: reason), OperatorProblem.row(of: reason))
        let isTold = ours.code != 8000 && theirs.code != 8000
        #expect(!isTold || ours == theirs)
        #expect(reason == .internal || ours.code != 8000 || theirs.code != 8000, "nobody is told")
    }

    @Test(
        "leave to operators what is theirs alone",
        arguments: [
            Failure.Reason.operatorTokenInvalid, .operatorForbidden, .preconditionRequired, .preconditionFailed,
            .documentInvalid,
        ]
    )
    func operators(reason: Failure.Reason) {
        #expect(Problem.row(of: reason).code == 8000)
        #expect((8200...8205).contains(OperatorProblem.row(of: reason).code))
    }
}
