// An OpenID provider for tests: oidc-provider with the form of its developers' mode, in which every name
// and password signs in. A user has the groups that GROUPS gives, as JSON by name.
//
//     node provider.mjs ISSUER KEY_FILE CERTIFICATE_FILE        prints "ready" once it listens
import { createServer } from "node:https";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [issuer, keyFile, certificateFile] = process.argv.slice(2);
const packages = createRequire(`${process.env.PACKAGES}/`);
const { default: Provider } = await import(pathToFileURL(packages.resolve("oidc-provider")).href);
const groups = JSON.parse(process.env.GROUPS ?? "{}");

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "berth",
      client_secret: process.env.CLIENT_SECRET,
      redirect_uris: ["https://localhost/sign-in"],
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
  ],
  claims: { openid: ["sub"], groups: ["groups"] },
  scopes: ["openid", "groups"],
  conformIdTokenClaims: false, // claims of scopes are in the ID token
  ttl: { IdToken: Number(process.env.TOKEN_SECONDS ?? 3600) },
  findAccount: (_, name) => ({ accountId: name, claims: () => ({ sub: name, groups: groups[name] ?? [] }) }),
});
// The port of the page is not known when the provider starts.
provider.Client.prototype.redirectUriAllowed = (address) => /^https:\/\/localhost:\d+\/sign-in$/.test(address);

const { hostname, port } = new URL(issuer);
createServer({ key: readFileSync(keyFile), cert: readFileSync(certificateFile) }, provider.callback()).listen(
  Number(port),
  hostname,
  () => console.log("ready"),
);
