# ruby-jwt. Usage: ruby_jwt.rb FOLDER (jwks.json, cases.tsv)
require 'json'
require 'jwt'

folder = ARGV[0]
jwks = JSON.parse(File.read("#{folder}/jwks.json"), symbolize_names: true)
File.foreach("#{folder}/cases.tsv") do |line|
  name, token = line.chomp.split("\t")
  begin
    JWT.decode(token, nil, true, algorithms: ['ES256'], jwks: jwks)
    puts [name, 'accept', ''].join("\t")
  rescue StandardError => e
    puts [name, 'refuse', e.class].join("\t")
  end
end
