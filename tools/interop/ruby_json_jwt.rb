# ruby-json-jwt. It leaves `exp` to its caller. Usage: ruby_json_jwt.rb FOLDER (jwks.json, cases.tsv)
require 'json'
require 'json/jwt'

folder = ARGV[0]
jwks = JSON::JWK::Set.new(JSON.parse(File.read("#{folder}/jwks.json")))
File.foreach("#{folder}/cases.tsv") do |line|
  name, token = line.chomp.split("\t")
  begin
    claims = JSON::JWT.decode(token, jwks, [:ES256])
    raise 'expired' if claims[:exp] <= Time.now.to_i
    puts [name, 'accept', ''].join("\t")
  rescue StandardError => e
    puts [name, 'refuse', e.class].join("\t")
  end
end
