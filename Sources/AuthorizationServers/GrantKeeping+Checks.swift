package import Domain
package import Providers

extension AppVerdict {
    /// Creates the verdict of a check that failed, with the cause: only operators see it.
    package init(_ failure: Failure) {
        self.init(problem: (failure.message + (failure.cause.map { " (\($0))" } ?? ""), failure.reason))
    }
}

extension GrantKeeping where Self: DialogOffering {
    package func check(_ app: ProviderApp, deadline: ContinuousClock.Instant) async -> AppVerdict {
        do throws(Failure) {
            return try await tokenEndpoint(until: deadline).verdict(
                on: try credentials(of: app.id, until: deadline),
                until: deadline
            )
        } catch {
            return AppVerdict(error)
        }
    }

    package func warning(
        about redirectURI: String,
        of app: ProviderApp,
        deadline: ContinuousClock.Instant
    ) async -> String? {
        guard offersDialog else { return nil }
        let dialog = Dialog(
            app: app,
            redirectURI: redirectURI,
            state: Secret("federation-provider-check"),
            wishes: DialogParameters(),
            codeChallenge: dialogChallenge == .off ? nil : "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        )
        let address: String
        do throws(Failure) { address = try await self.address(of: dialog, until: deadline) } catch {
            return "The redirect URI was not tried: \(error.message)"
        }
        return await server.warning(aboutDialogAt: address, redirectURI: redirectURI, until: deadline)
    }
}
