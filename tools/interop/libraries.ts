/** A JWT library of Debian, and how its driver beside this file is run. */
export type Library = {
  readonly name: string
  /** The Debian packages that the driver needs; interpreters are Debian's own, whatever else is in the PATH. */
  readonly packages: readonly string[]
  /** Run once before the driver; `$OUT` is where the program goes. */
  readonly compile?: readonly string[]
  /** `$HERE` is this folder, `$OUT` the compiled program. The cases' folder comes after it. */
  readonly run: readonly string[]
}

export const libraries: readonly Library[] = [
  {
    name: 'python3-jwt',
    packages: ['python3-jwt', 'python3-cryptography'],
    run: ['/usr/bin/python3', '$HERE/python3_jwt.py'],
  },
  {
    name: 'python3-jwcrypto',
    packages: ['python3-jwcrypto'],
    run: ['/usr/bin/python3', '$HERE/python3_jwcrypto.py'],
  },
  { name: 'ruby-jwt', packages: ['ruby-jwt'], run: ['/usr/bin/ruby', '$HERE/ruby_jwt.rb'] },
  { name: 'ruby-json-jwt', packages: ['ruby-json-jwt'], run: ['/usr/bin/ruby', '$HERE/ruby_json_jwt.rb'] },
  {
    name: 'Crypt::JWT (Perl)',
    packages: ['libcrypt-jwt-perl'],
    run: ['/usr/bin/perl', '$HERE/crypt_jwt.pl'],
  },
  {
    name: 'golang-jwt',
    packages: ['golang-github-golang-jwt-jwt-dev', 'golang-go'],
    compile: ['go', 'build', '-o', '$OUT', '$HERE/golang_jwt.go'],
    run: ['$OUT'],
  },
  { name: 'jose (command)', packages: ['jose'], run: ['sh', '$HERE/jose_cli.sh'] },
  {
    name: 'libjwt (C)',
    packages: ['libjwt-dev', 'gcc', 'libc6-dev'],
    compile: ['gcc', '-O1', '-o', '$OUT', '$HERE/libjwt.c', '-ljwt'],
    run: ['$OUT'],
  },
  { name: 'PHP openssl', packages: ['php-cli'], run: ['/usr/bin/php', '$HERE/php_openssl.php'] },
]
