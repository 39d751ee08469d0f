/** How a seal is drawn. Only what the issuer signed gets the fine lines; anything else gets a broken rim. */
export type SealState = 'valid' | 'test' | 'revoked' | 'expired' | 'waiting' | 'forged' | 'blank'
