package clients

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/admin"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/admin/config"
)

// TLS and every method of authentication, on the broker of SECURED_SERVICE_URL and SECURED_ADMIN_URL.

const atOnce = arrives / 2 // the operation timeout is arrives

var methods = []string{"token", "certificate", "basic", "oauth2"}

func credential(t *testing.T, name string) string {
	return filepath.Join(required(t, "SECURED_CREDENTIALS"), name)
}

// startSecured is a test whose client connects by TLS.
func startSecured(tt *testing.T, authentication pulsar.Authentication) *test {
	return startTrusting(tt, "ca.pem", authentication)
}

func startTrusting(tt *testing.T, authority string, authentication pulsar.Authentication) *test {
	tt.Parallel()
	client := newClientOf(tt, pulsar.ClientOptions{
		URL:                   required(tt, "SECURED_SERVICE_URL"),
		TLSTrustCertsFilePath: credential(tt, authority),
		TLSValidateHostname:   true,
		Authentication:        authentication,
	})
	return &test{T: tt, client: client, topic: newTopic("public/default")}
}

func good(t *testing.T, method string) pulsar.Authentication {
	switch method {
	case "token":
		return pulsar.NewAuthenticationTokenFromFile(credential(t, "token"))
	case "certificate":
		return certificate(t, "client")
	case "basic":
		return basic(t, "open sesame")
	default:
		return oauth2(t, "oauth.json")
	}
}

func wrong(t *testing.T, method string) pulsar.Authentication {
	switch method {
	case "token":
		return pulsar.NewAuthenticationToken(signed(t, "admin", time.Hour) + "AAAA")
	case "certificate":
		return certificate(t, "two")
	case "basic":
		return basic(t, "guessed")
	default:
		return nil
	}
}

func certificate(t *testing.T, name string) pulsar.Authentication {
	return pulsar.NewAuthenticationTLS(credential(t, name+".pem"), credential(t, name+".key"))
}

func basic(t *testing.T, password string) pulsar.Authentication {
	authentication, err := pulsar.NewAuthenticationBasic("admin", password)
	if err != nil {
		t.Fatal(err)
	}
	return authentication
}

func oauth2(t *testing.T, name string) pulsar.Authentication {
	return pulsar.NewAuthenticationOAuth2(map[string]string{
		"type":       "client_credentials",
		"issuerUrl":  required(t, "SECURED_ISSUER_URL"),
		"audience":   "pulsar",
		"privateKey": credential(t, name),
	})
}

// signed is a token that the broker accepts for a while.
func signed(t *testing.T, role string, life time.Duration) string {
	secret, err := os.ReadFile(credential(t, "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	encoded := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"sub":%q,"exp":%d}`, role, time.Now().Add(life).Unix())
	body := encoded([]byte(`{"alg":"HS256"}`)) + "." + encoded([]byte(claims))
	signature := hmac.New(sha256.New, secret)
	signature.Write([]byte(body))
	return body + "." + encoded(signature.Sum(nil))
}

func TestEachMethodPublishesConsumesAndReads(tt *testing.T) {
	tt.Parallel()
	for _, method := range methods {
		tt.Run(method, func(tt *testing.T) {
			t := startSecured(tt, good(tt, method))
			consumer := t.consumer(pulsar.ConsumerOptions{})
			reader := t.reader(pulsar.ReaderOptions{StartMessageID: pulsar.EarliestMessageID()})
			t.send(t.unbatched(), "hello")
			t.expect(t.values(consumer, 1), "hello")
			ctx, cancel := context.WithTimeout(context.Background(), arrives)
			defer cancel()
			message, err := reader.Next(ctx)
			t.must(err)
			t.expect([]string{string(message.Payload())}, "hello")
		})
	}
}

// The admin library of this client knows no passwords.
func TestEachMethodAdministers(tt *testing.T) {
	tt.Parallel()
	token, err := os.ReadFile(credential(tt, "token"))
	if err != nil {
		tt.Fatal(err)
	}
	for method, given := range map[string]config.Config{
		"token": {Token: string(token)},
		"certificate": {
			AuthPlugin: "org.apache.pulsar.client.impl.auth.AuthenticationTls",
			AuthParams: "tlsCertFile:" + credential(tt, "client.pem") + ",tlsKeyFile:" + credential(tt, "client.key"),
		},
		// Without a plugin's name, since only then this version uses the authority above; it takes the key file from Scope.
		"oauth2": {
			IssuerEndpoint: required(tt, "SECURED_ISSUER_URL"),
			Audience:       "pulsar",
			Scope:          credential(tt, "oauth.json"),
		},
	} {
		tt.Run(method, func(tt *testing.T) {
			t := startAdmin(tt, given)
			t.must(t.admin.Topics().Create(t.topicName(), 2))
			metadata, err := t.admin.Topics().GetMetadata(t.topicName())
			t.must(err)
			t.expect([]string{fmt.Sprint(metadata.Partitions)}, "2")
		})
	}
}

func startAdmin(tt *testing.T, given config.Config) *test {
	tt.Parallel()
	given.WebServiceURL = required(tt, "SECURED_ADMIN_URL")
	given.TLSTrustCertsFilePath = credential(tt, "ca.pem")
	client, err := admin.New(&given)
	if err != nil {
		tt.Fatal(err)
	}
	return &test{T: tt, admin: client, topic: newTopic("public/default")}
}

func TestWrongCredentialsAreAnAuthenticationErrorAtOnce(tt *testing.T) {
	tt.Parallel()
	for _, method := range []string{"token", "certificate", "basic", "nothing"} {
		tt.Run(method, func(tt *testing.T) {
			t := startSecured(tt, wrong(tt, method))
			started := time.Now()
			_, err := t.tryProducer(pulsar.ProducerOptions{})
			t.expectError(err, "AuthenticationError")
			if took := time.Since(started); took > atOnce {
				t.Fatalf("it took %s", took)
			}
		})
	}
}

func TestWrongCredentialsDoNotAdminister(tt *testing.T) {
	t := startAdmin(tt, config.Config{Token: signed(tt, "admin", time.Hour) + "AAAA"})
	_, err := t.admin.Tenants().List()
	t.expectError(err, "401")
}

// The issuer refuses before the broker is asked. This client retries until its timeout.
func TestAWrongClientSecretConnectsNowhere(tt *testing.T) {
	t := startSecured(tt, oauth2(tt, "wrong-oauth.json"))
	if _, err := t.tryProducer(pulsar.ProducerOptions{}); err == nil {
		t.Fatal("it connected")
	}
}

func TestACertificateOfAnotherAuthorityConnectsNowhere(tt *testing.T) {
	t := startSecured(tt, certificate(tt, "forged"))
	if _, err := t.tryProducer(pulsar.ProducerOptions{}); err == nil {
		t.Fatal("it connected")
	}
}

func TestAClientTrustsNoOtherAuthority(tt *testing.T) {
	t := startTrusting(tt, "other.pem", good(tt, "token"))
	if _, err := t.tryProducer(pulsar.ProducerOptions{}); err == nil {
		t.Fatal("it connected")
	}
}

func TestATokenThatExpiresIsRenewed(tt *testing.T) {
	var supplied atomic.Int32
	t := startSecured(tt, pulsar.NewAuthenticationTokenFromSupplier(func() (string, error) {
		if supplied.Add(1) <= 3 {
			return signed(tt, "admin", 2*time.Second), nil
		}
		return signed(tt, "admin", time.Hour), nil
	}))
	consumer := t.consumer(pulsar.ConsumerOptions{})
	producer := t.unbatched()
	before := max(supplied.Load(), 3)
	t.eventually("a fresh token is asked for", func() bool { return supplied.Load() > before })
	t.send(producer, "renewed")
	t.expect(t.values(consumer, 1), "renewed")
}
