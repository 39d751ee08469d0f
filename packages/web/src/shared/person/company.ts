import { callService } from './api.ts'

/** The page that a company leads back to reads it: server/assets/issuer.js has the same name. */
const kept = 'pohf-issuer-check'

type Begun = { readonly request: { readonly url?: unknown }; readonly state: string }

/** Leads this tab to the sign-in of a company, for the person who is signed in here; afterwards it goes on at `back`. */
export const signInWithCompany = async (issuer: string, memberId: string, back: string): Promise<void> => {
  const begun = await callService<Begun>('POST', '/api/members/me/proofs/begin', { issuer, memberId })
  const finish = '/api/members/me/proofs/finish'
  sessionStorage.setItem(kept, JSON.stringify({ state: begun.state, finish, body: {}, back }))
  location.assign(String(begun.request.url))
}
