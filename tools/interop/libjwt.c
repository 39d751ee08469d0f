// libjwt. It leaves `exp` and the choice of the algorithm to its caller. Usage: libjwt FOLDER (pem/<kid>.pem, cases.tsv)
#include <jwt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static size_t read_key(const char *folder, const char *kid, unsigned char *pem, size_t size) {
  char path[1024];
  if (strchr(kid, '/')) return 0;
  snprintf(path, sizeof path, "%s/pem/%s.pem", folder, kid);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  size_t length = fread(pem, 1, size - 1, file);
  fclose(file);
  pem[length] = 0;
  return length;
}

static const char *refusal(const char *folder, const char *token) {
  static unsigned char pem[4096];
  jwt_t *peek = NULL, *jwt = NULL;
  if (jwt_decode(&peek, token, NULL, 0)) return "not a token";
  const char *kid = jwt_get_header(peek, "kid"), *alg = jwt_get_header(peek, "alg");
  int known = kid && alg && strcmp(alg, "ES256") == 0;
  size_t length = known ? read_key(folder, kid, pem, sizeof pem) : 0;
  jwt_free(peek);
  if (!known) return "algorithm or kid";
  if (length == 0) return "unknown kid";
  if (jwt_decode(&jwt, token, pem, (int)length)) return "signature";
  int expired = jwt_get_alg(jwt) != JWT_ALG_ES256 || jwt_get_grant_int(jwt, "exp") <= time(NULL);
  jwt_free(jwt);
  return expired ? "expired" : NULL;
}

int main(int count, char **given) {
  static char line[65536];
  if (count < 2) return 2;
  snprintf(line, sizeof line, "%s/cases.tsv", given[1]);
  FILE *cases = fopen(line, "r");
  if (!cases) return 2;
  while (fgets(line, sizeof line, cases)) {
    line[strcspn(line, "\n")] = 0;
    char *token = strchr(line, '\t');
    if (!token) continue;
    *token++ = 0;
    const char *why = refusal(given[1], token);
    printf("%s\t%s\t%s\n", line, why ? "refuse" : "accept", why ? why : "");
  }
  return 0;
}
