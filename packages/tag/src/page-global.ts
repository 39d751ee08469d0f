/** The global `pohf`, which the scripts of one page share: each keeps what another has put there. */
export type PageGlobal = { readonly pohf?: object }
