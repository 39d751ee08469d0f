/** Where people sign in, as the service has it: passkeys need a host name, so on this machine it is localhost. */
export const accountOriginOf = (issuer: string): string => {
  const url = new URL(issuer)
  if (url.hostname === '127.0.0.1' || url.hostname === '[::1]') url.hostname = 'localhost'
  return url.origin
}
