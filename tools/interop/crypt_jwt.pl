# libcrypt-jwt-perl. Usage: crypt_jwt.pl FOLDER (jwks.json, cases.tsv)
use strict;
use warnings;
use Crypt::JWT qw(decode_jwt);

my $folder = $ARGV[0];
open(my $file, '<', "$folder/jwks.json") or die $!;
my $jwks = do { local $/; <$file> };
open(my $cases, '<', "$folder/cases.tsv") or die $!;
while (my $line = <$cases>) {
    chomp $line;
    my ($name, $token) = split /\t/, $line;
    my $claims = eval { decode_jwt(token => $token, kid_keys => $jwks, accepted_alg => ['ES256'], verify_exp => 1) };
    my $why = $@ =~ s/ at .*//sr;
    $why =~ s/[\t\n]/ /g;
    print join("\t", $name, $claims ? ('accept', '') : ('refuse', $why)), "\n";
}
