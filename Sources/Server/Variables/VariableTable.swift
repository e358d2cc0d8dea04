import Providers

/// A group of configuration variables that share a table in the documentation.
struct VariableTable {
    /// The name of the table, which a marker in the documentation page repeats.
    let name: String
    let variables: [any DeclaredVariable]

    /// All variables of the service, in the order of docs/configuration.md.
    static let all = [
        VariableTable(name: "needed variables", variables: NeededVariables.all),
        VariableTable(name: "variables of listening and logging", variables: ListeningVariables.all),
        VariableTable(name: "variables of TLS", variables: TLSVariables.all),
        VariableTable(name: "variables of providers", variables: ProviderVariables.all),
        VariableTable(name: "variables of mail", variables: MailVariables.all),
        VariableTable(name: "variables of SMS", variables: SMSVariables.all),
        VariableTable(name: "variables of time", variables: TimeVariables.all),
        VariableTable(name: "variables of number", variables: NumberVariables.all),
        VariableTable(name: "variables of poolers", variables: PoolerVariables.all),
        rates,
    ]

    /// The configuration variables for rate limits, which docs/limits.md lists.
    static let rates = VariableTable(name: "variables of rates", variables: RateVariables.all)
}
