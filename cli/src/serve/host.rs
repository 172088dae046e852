use std::net::{IpAddr, SocketAddr};

use axum::http::Request;
use axum::http::header::HOST;
use axum::http::uri::Authority;

/// Accepted hosts of requests.
///
/// On loopback only loopback's names are accepted. Otherwise any web site could point its name at 127.0.0.1 and share
/// the page's origin and stored data ("DNS rebinding").
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hosts {
    Loopback,
    Any,
}

impl Hosts {
    pub fn reached_at(address: IpAddr) -> Self {
        if address.is_loopback() { Self::Loopback } else { Self::Any }
    }

    pub fn url(self, address: SocketAddr) -> String {
        if address.ip().is_unspecified() {
            format!("http://localhost:{}/", address.port())
        } else {
            format!("http://{address}/")
        }
    }

    /// Whether to answer a request. Its port may differ, as behind a tunnel.
    pub fn allow<Body>(self, request: &Request<Body>) -> bool {
        let named =
            request.headers().get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
        let Some(authority) = request.uri().authority().or(named.as_ref()) else {
            return false; // HTTP requires the host
        };
        self == Self::Any || is_loopback(authority.host())
    }
}

fn is_loopback(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&host);
    host == "localhost"
        || host.ends_with(".localhost") // never resolved by a name server: RFC 6761
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(hosts: Hosts, host: &str) -> bool {
        hosts.allow(&Request::builder().uri("/").header(HOST, host).body(()).expect("a request"))
    }

    #[test]
    fn loopback_has_its_own_names_only() {
        for host in
            ["localhost", "LOCALHOST:8380", "wordloom.localhost:1", "127.0.0.1:8380", "127.9.9.9", "[::1]:80"]
        {
            assert!(allows(Hosts::Loopback, host), "{host}");
        }
        for host in [
            "example.com",
            "example.com:8380",
            "localhost.example.com",
            "notlocalhost",
            "127.0.0.1.example.com",
            "192.168.0.7:8380",
            "[::2]",
            "",
            "a b",
        ] {
            assert!(!allows(Hosts::Loopback, host), "{host:?}");
        }
        assert!(!Hosts::Loopback.allow(&Request::builder().uri("/").body(()).expect("a request")));
    }

    #[test]
    fn the_host_of_a_full_address_counts() {
        let request = Request::builder().uri("http://example.com/").header(HOST, "localhost").body(());
        assert!(!Hosts::Loopback.allow(&request.expect("a request")));
    }

    #[test]
    fn elsewhere_any_name_will_do() {
        let hosts = Hosts::reached_at([192, 168, 0, 7].into());
        assert!(allows(hosts, "box.example:8380"));
        assert_eq!(Hosts::reached_at([127, 0, 0, 1].into()), Hosts::Loopback);
    }

    #[test]
    fn the_url_can_be_opened() {
        let url = |address: &str| {
            let address: SocketAddr = address.parse().expect("an address");
            Hosts::reached_at(address.ip()).url(address)
        };
        assert_eq!(url("127.0.0.1:8380"), "http://127.0.0.1:8380/");
        assert_eq!(url("[::1]:8380"), "http://[::1]:8380/");
        assert_eq!(url("0.0.0.0:80"), "http://localhost:80/");
    }
}
