import { makeBeacons, type Props } from './beacons.ts'
import { watchVisit } from './events.ts'

/** The parameter of a landing address that has the view token, in the query or in the fragment. */
const parameter = /([?&#])pohf_vt=(vt_[\w.-]{1,1021})(&|(?=#)|$)/

/** Takes the token out of the address, so that no later request of the page names it as its referrer. */
const takeToken = (): string | undefined => {
  const { href } = location
  const token = parameter.exec(href)?.[2]
  if (token === undefined) return undefined
  const clean = href.replace(parameter, (_, before: string, __, after: string) =>
    after === '&' ? before : '',
  )
  history.replaceState(history.state, '', clean)
  return token
}

/** Classic scripts know their own element only while they run for the first time. */
const script = document.currentScript as HTMLScriptElement | null
const { vt: givenToken, consent: consentMode, baseUrl } = script?.dataset ?? {}
const service = baseUrl ?? (script?.src ? new URL(script.src).origin : undefined)
const vt = takeToken() ?? (givenToken?.startsWith('vt_') ? givenToken : undefined)

const asksForPrivacy = (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl === true

let ending: AbortController | undefined
let track: ReturnType<typeof watchVisit> | undefined
let discard = (): void => undefined

const begin = (): void => {
  if (track || vt === undefined || service === undefined) return
  const beacons = makeBeacons(`${service.replace(/\/+$/, '')}/api/track/event`, vt)
  ending = new AbortController()
  discard = beacons.clear
  track = watchVisit(beacons, ending.signal)
}

const end = (): void => {
  ending?.abort()
  discard()
  track = undefined
}

const visit = {
  /** Reports an event of your own; true if it will be sent. */
  track: (type: string, props?: Props): boolean => track?.(type, props) ?? false,
  /** True after the person agreed; false ends the visit and drops what was not sent. */
  consent: (isGiven: boolean): void => (isGiven ? begin() : end()),
  /** The token of this visit, for your server; undefined without one. */
  viewToken: (): string | undefined => vt,
}
globalThis.pohf = { ...globalThis.pohf, ...visit }

if (consentMode !== 'required' && !asksForPrivacy) begin()
document.dispatchEvent(new Event('pohf-visit'))
