import Foundation
import Glibc

/// An nginx for tests of TLS and HTTP/2: each server responds with 200 and writes an access log.
final class Nginx: Sendable {
    struct Site: Sendable {
        /// The name of a pair made by `Certificates`; nil serves plain HTTP.
        var certificate: String?
        var protocols = "TLSv1.2 TLSv1.3"
        var hasHTTP2 = true
        var address = "127.0.0.1"
        /// The port; nil uses a free one.
        var port: UInt16?
    }

    let ports: [UInt16]
    private let directory: URL
    private let program: Program

    /// Starts one server block for each site and returns when all of them listen.
    static func start(_ sites: [Site], certificates: Certificates? = nil) async throws -> Nginx {
        try await onThread { try Nginx(sites, certificates: certificates) }
    }

    private init(_ sites: [Site], certificates: Certificates?) throws {
        directory = try temporaryDirectory()
        ports = try sites.map { try $0.port ?? ScriptedServer.freePort() }
        var servers = ""
        for (site, port) in zip(sites, ports) {
            servers += "server {\n"
            if let name = site.certificate, let certificates {
                servers += """
                    listen \(site.address):\(port) ssl \(site.hasHTTP2 ? "http2" : "") backlog=4096;
                    ssl_certificate \(certificates.path(name)).pem;
                    ssl_certificate_key \(certificates.path(name)).key;
                    ssl_protocols \(site.protocols);
                    ssl_ciphers ALL:@SECLEVEL=0;

                    """
            } else {
                servers += "listen \(site.address):\(port) backlog=4096;\n"
            }
            servers += "location / { default_type text/plain; return 200 ok; }\n}\n"
        }
        let configuration = """
            daemon off; master_process off; pid \(directory.path)/pid; error_log \(directory.path)/error.log;
            events { worker_connections 8192; }
            http {
              log_format line '$server_addr $server_port $connection $server_protocol $request_uri';
              access_log \(directory.path)/access.log line;
              client_body_temp_path \(directory.path); proxy_temp_path \(directory.path);
              fastcgi_temp_path \(directory.path); uwsgi_temp_path \(directory.path); scgi_temp_path \(directory.path);
              keepalive_requests 100000;
              \(servers)
            }
            """
        try configuration.write(to: directory.appending(path: "nginx.conf"), atomically: true, encoding: .utf8)
        program = try Program("nginx", ["-p", directory.path, "-c", "nginx.conf", "-e", "\(directory.path)/error.log"])
        let end = Date.now + 10
        while !FileManager.default.fileExists(atPath: "\(directory.path)/pid") {
            guard Date.now < end else {
                let output = program.stop()
                throw Program.Failure(description: "nginx did not start: " + String(decoding: output, as: UTF8.self))
            }
            usleep(5000)
        }
    }

    deinit {
        program.stop()
        try? FileManager.default.removeItem(at: directory)
    }

    struct LogLine {
        let address: String
        let port: UInt16
        let connection: String
        let version: String
        let target: String
    }

    /// The lines of the access log so far.
    var log: [LogLine] {
        text("access.log").split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 5, let port = UInt16(words[1]) else { return nil }
            return LogLine(address: words[0], port: port, connection: words[2], version: words[3], target: words[4])
        }
    }

    private func text(_ file: String) -> String {
        (try? String(contentsOf: directory.appending(path: file), encoding: .utf8)) ?? ""
    }
}
