import { z } from 'zod'
import { path, splitList } from './setting-fields.ts'

/** Where the signing keys are, and how api and worker reach them. */
export const signerSettings = {
  KEYS_DIR: z.string().min(1).optional().meta({
    description:
      'Folder of the signer, with its keys, key states and journal. Back it up. Default: the folder keys in DATA_DIR.',
  }),
  SIGNER_SOCKET: z.string().min(1).max(100).optional().meta({
    description:
      'Unix socket of the signer, at most 100 characters. Default: signer.sock in DATA_DIR, or a short path in the temporary folder where that is too long.',
  }),
  SIGNER_SOCKET_MODE: z.enum(['0600', '0660']).default('0600').meta({
    description:
      'File mode of that socket. 0600: only the signer’s user can connect. 0660: its group can connect too. See operations.md.',
  }),
  SIGNER_URL: z
    .string()
    .default('')
    .transform(splitList)
    .pipe(
      z
        .array(
          z
            .string()
            .max(255)
            .regex(
              /^(unix:\/.{1,99}|https:\/\/[^/?#@\s]+:\d{1,5})$/,
              'must be unix:/path or https://host:port, comma-separated',
            ),
        )
        .max(16),
    )
    .meta({
      description:
        'Signers of this api or worker, comma-separated: unix:/path or https://host:port. The first that answers signs. Default: SIGNER_SOCKET.',
    }),
  SIGNER_LISTEN: z
    .string()
    .max(255)
    .regex(/^[^/?#@\s]+:\d{1,5}$/, 'must be host:port')
    .optional()
    .meta({
      description:
        'Address at which the signer also listens with TLS, for api and worker on other machines, such as 10.0.0.5:8443.',
    }),
  SIGNER_TLS_CERT: path(
    'Certificate of this process for TLS between api, worker and signer, in PEM. Required with SIGNER_LISTEN and with https in SIGNER_URL.',
  ),
  SIGNER_TLS_KEY: path('Private key of that certificate, in PEM, mode 0600.'),
  SIGNER_TLS_CA: path(
    'Certificate authority that signs the certificates of both sides. Use an authority for this purpose alone: each of its certificates may ask for signatures.',
  ),
  SIGNER_OPERATOR_SOCKET: z.string().min(1).max(100).optional().meta({
    description:
      'Unix socket of the signer for operators, mode 0600: rotate, revoke and admit keys. Default: operator.sock in KEYS_DIR, or a short path in the temporary folder where that is too long.',
  }),
  ADMISSION_KEY: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/, 'must be the thumbprint that pohf keys admission show prints')
    .optional()
    .meta({
      description:
        'Thumbprint of the key that admits signing keys. Set it on every machine except the first. Default: the admission key of the first signer that this process meets; a signer makes one.',
    }),
  SIGNER_BACKEND: z
    .enum(['file', 'pkcs11'])
    .default('file')
    .meta({ description: 'Where the signer makes new keys: files in KEYS_DIR, or a PKCS#11 token.' }),
  PKCS11_MODULE: z.string().min(1).optional().meta({
    description:
      'PKCS#11 library of the token, such as /usr/lib/softhsm/libsofthsm2.so. Required with SIGNER_BACKEND=pkcs11.',
  }),
  PKCS11_TOKEN_LABEL: z
    .string()
    .min(1)
    .max(32)
    .optional()
    .meta({ description: 'Label of the token. Required with SIGNER_BACKEND=pkcs11.' }),
  PKCS11_PIN_FILE: z.string().min(1).optional().meta({
    description:
      'File with the user PIN of the token. Only the signer reads it. Required with SIGNER_BACKEND=pkcs11.',
  }),
}
