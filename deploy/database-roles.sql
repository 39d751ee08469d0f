-- Creates the roles and the database, as docs/operate/install.md does. The image of PostgreSQL runs this file once, as its
-- administrator, when it makes a new cluster. psql reads the password from the secret, so no command line contains it.
\set password `cat /run/secrets/database-password`
create role pohf login password :'password';
create role pohf_app nologin;
create role pohf_mint nologin;
grant pohf_app, pohf_mint to pohf;
create database pohf owner pohf;
