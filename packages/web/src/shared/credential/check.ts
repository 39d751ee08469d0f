import { credentialKinds, verifyCredential, type Fetch, type Result } from '@pohf/verify'

/** This page came from the issuer's own server, so its keys and lists are fetched from there, whatever the host is called. */
const issuerFetch: Fetch = (url, init) => fetch(new URL(url).pathname, init)

/** Verifies a credential in the browser. Pages show all claims and let people decide, so the policy requires only the signature. */
export const verifyInBrowser = (jwt: string, issuer: string, challenge = ''): Promise<Result> =>
  verifyCredential(jwt, {
    issuer,
    fetch: issuerFetch,
    policy: {
      kinds: credentialKinds,
      minAssurance: 'low',
      minQuality: 0,
      status: 'if-present',
      allowTest: true,
      ...(challenge === '' ? {} : { challenge }),
    },
  })
