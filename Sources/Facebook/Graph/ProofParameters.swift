import Providers

extension Parameters {
    mutating func add(_ proof: AppSecretProof) {
        add("appsecret_proof", proof.value)
        if let time = proof.time { add("appsecret_time", String(time)) }
    }
}
