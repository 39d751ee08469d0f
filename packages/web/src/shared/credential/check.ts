import { credentialKinds, verifyCredential, type Fetch, type Result } from '@pohf/verify'

/** This page came from the issuer's own server, so its keys and lists are fetched from there, whatever the host is called. */
const issuerFetch: Fetch = (url, init) => fetch(new URL(url).pathname, init)

/** Checks a credential here. Pages show what is there and let people judge, so the policy asks for nothing but what was signed. */
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
